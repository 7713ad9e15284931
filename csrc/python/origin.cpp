// Which line of Python launches a program, for the error of one that fails after its call.
//
// Ops run without the GIL, and a launch must not wait for it. A thread's own frames stand still
// while it is in a call, so where it stands is read without: the address of the instruction
// that its innermost frame is at. What stands there is told by Python, under the GIL, the first
// time only.
#include "csrc/device/slot.h"
#include "csrc/device/stream.h"
#include "csrc/python/module.h"

#include <c10/util/flat_hash_map.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/dynamo/cpython_includes.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace neuron::python {

namespace {

namespace py = pybind11;
using device::Origin;

// Null on a thread that no Python code called from.
const void* current_instruction() {
  const PyThreadState* thread = PyGILState_GetThisThreadState();
  if (thread == nullptr) return nullptr;
#if PY_VERSION_HEX >= 0x030D0000
  const _PyInterpreterFrame* frame = thread->current_frame;
#else
  const _PyInterpreterFrame* frame = thread->cframe->current_frame;
#endif
  return frame == nullptr ? nullptr : PREV_INSTR(frame);
}

struct Line {
  py::object code;  // held, so that no other code comes to lie at the address
  Origin text;
};

// With the GIL.
Line current_line() {
  const auto frame = py::reinterpret_steal<py::object>(
      reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get()))
  );
  if (!frame) return {};
  auto* const raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
  auto code = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(raw)));
  // Not every path is valid UTF-8.
  const auto file = code.attr("co_filename").attr("encode")("utf-8", "backslashreplace");
  auto text = "at " + file.cast<std::string>() + ":" + std::to_string(PyFrame_GetLineNumber(raw));
  return {std::move(code), std::make_shared<const std::string>(std::move(text))};
}

// The lines met so far, by instruction.
class Lines {
 public:
  Origin at(const void* instruction) {
    {
      std::lock_guard<device::SpinLock> lock(lock_);
      const auto found = lines_.find(instruction);
      if (found != lines_.end()) return found->second.text;
    }
    return learn(instruction);
  }

 private:
  static constexpr size_t kMost = 4096;  // then all are forgotten: code may come and go

  Origin learn(const void* instruction) {
    const py::gil_scoped_acquire gil;
    Line line = current_line();
    Origin text = line.text;
    ska::flat_hash_map<const void*, Line> forgotten;  // released after the lock
    std::lock_guard<device::SpinLock> lock(lock_);
    if (lines_.size() >= kMost) forgotten.swap(lines_);
    lines_.emplace(instruction, std::move(line));
    return text;
  }

  device::SpinLock lock_;
  ska::flat_hash_map<const void*, Line> lines_;
};

Origin current_origin() {
  static auto* const lines = new Lines();  // leaked: holds Python objects
  static const auto* const backward =
      new Origin(std::make_shared<const std::string>("by a backward pass"));
  if (const void* instruction = current_instruction()) return lines->at(instruction);
  return torch::autograd::get_current_graph_task_id() < 0 ? nullptr : *backward;
}

}  // namespace

void init_origin() {
  device::set_origin(&current_origin);
}

}  // namespace neuron::python
