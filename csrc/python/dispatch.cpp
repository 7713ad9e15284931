// The dispatcher's view of Python: calls become torch_neuronx.eager.call objects,
// torch_neuronx.eager.program objects become programs.
#include "csrc/python/convert.h"
#include "csrc/python/layouts.h"
#include "csrc/python/module.h"
#include "csrc/python/undisturbed.h"

#include "csrc/device/runtime.h"
#include "csrc/dispatch/handlers.h"
#include "csrc/dispatch/layouts.h"
#include "csrc/dispatch/numbers.h"
#include "csrc/dispatch/registration.h"
#include "csrc/dispatch/table.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

namespace neuron::python {
namespace {

namespace py = pybind11;
using dispatch::Frame;
using dispatch::OpInfo;

py::object eager(const char* name) {
  return py::module_::import("torch_neuronx.eager").attr(name);
}

void describe(OpInfo& info) {
  const Undisturbed undisturbed;
  py::object description = eager("describe")(operator_object(info.op));
  auto runtime = description.attr("runtime").cast<std::vector<std::string>>();
  const auto& arguments = info.op.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    info.args[i].runtime =
        std::find(runtime.begin(), runtime.end(), arguments[i].name()) != runtime.end();
  }
  auto road = description.attr("road").cast<std::string>();
  if (road == "host") {
    info.host_reason = description.attr("reason").cast<std::string>();
  }
  info.road.store(
      road == "host"        ? dispatch::Road::Host
      : road == "composite" ? dispatch::Road::Composite
                            : dispatch::Road::Program,
      std::memory_order_release
  );
}

std::shared_ptr<dispatch::Program> miss(const Frame& frame) {
  device::Runtime::get().check_fork();
  const Undisturbed undisturbed;
  py::object call = call_object(frame);
  return to_program(eager("miss")(call));
}

bool fallback(const OpInfo& info, const std::string& reason) {
  const Undisturbed undisturbed;
  py::module_ policy = py::module_::import("torch_neuronx.eager.fallback");
  return policy.attr("on_fallback")(info.name, reason).cast<bool>();
}

std::map<std::string, int64_t> counts(std::atomic<int64_t> OpInfo::* counter) {
  std::map<std::string, int64_t> result;
  for (OpInfo* info : dispatch::known_ops()) {
    if (int64_t count = (info->*counter).load(std::memory_order_relaxed)) {
      result[info->name] = count;
    }
  }
  return result;
}

void clear_op_tracking() {
  for (OpInfo* info : dispatch::known_ops()) {
    info->executed.store(0, std::memory_order_relaxed);
    info->fallbacks.store(0, std::memory_order_relaxed);
  }
}

}  // namespace

void init_dispatch(py::module_& m) {
  dispatch::handlers() = {describe, miss, fallback, layout_kernel};
  dispatch::register_kernels();
  dispatch::register_layout_kernels();
  m.def(
      "executed_ops",
      [] { return counts(&OpInfo::executed); },
      "Launches per operator since the last clear."
  );
  m.def(
      "fallback_ops",
      [] { return counts(&OpInfo::fallbacks); },
      "Host runs per operator since the last clear."
  );
  m.def("clear_op_tracking", &clear_op_tracking);
  m.def("program_count", &dispatch::program_count, "Programs kept in memory.");
  m.def("set_program_limit", &dispatch::set_program_limit, py::arg("count"));
  m.def("clear_programs", [] {
    dispatch::clear_programs();
    dispatch::clear_numbers();
  });
}

}  // namespace neuron::python
