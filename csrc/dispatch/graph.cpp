#include "csrc/dispatch/graph.h"

#include "csrc/device/device.h"
#include "csrc/dispatch/launch.h"

#include <torch/library.h>

#include <atomic>

namespace neuron::dispatch {
namespace {

const c10::OperatorHandle& graph_operator() {
  static const c10::OperatorHandle op =
      c10::Dispatcher::singleton().findSchemaOrThrow("neuron::graph", "");
  return op;
}

// Apart from the ids of operators, which are counted from 1.
uint64_t next_id() {
  static std::atomic<uint64_t> count{uint64_t{1} << 32};
  return count++;
}

}  // namespace

Graph::Graph(const std::string& name, int device, bool takes_memory, Miss miss)
    : info_(graph_operator()),
      device_(device),
      takes_memory_(takes_memory),
      miss_(std::move(miss)) {
  info_.name = name;
  info_.id = next_id();
  info_.uses_precision = true;
}

torch::jit::Stack Graph::run(
    c10::List<at::Tensor> inputs, c10::impl::GenericList sizes, std::vector<bool> given_away
) {
  torch::jit::Stack stack;
  stack.reserve(info_.args.size());
  stack.emplace_back(at::Device(device::kDeviceType, static_cast<c10::DeviceIndex>(device_)));
  stack.emplace_back(std::move(inputs));
  stack.emplace_back(std::move(sizes));
  Frame frame(info_, stack);
  frame.given_away = std::move(given_away);
  auto program = find_program(frame);
  if (!program) {
    program = keep_program(frame, miss_(frame));
  }
  launch(*program, frame);
  return stack;
}

}  // namespace neuron::dispatch

// The schema that every graph's frame is read by; it is never called through the dispatcher.
TORCH_LIBRARY(neuron, m) {
  m.def("graph(Device device, Tensor[] inputs, Scalar[] sizes) -> ()");
}
