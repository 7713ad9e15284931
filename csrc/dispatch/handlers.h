// What the dispatcher asks of the layer above, which knows Python: installed once
// by csrc/python, so that this folder does not.
#pragma once

#include "csrc/dispatch/frame.h"
#include "csrc/dispatch/program.h"

#include <functional>
#include <string>

namespace neuron::dispatch {

using BoxedFunction = std::function<void(const c10::OperatorHandle&, torch::jit::Stack*)>;

struct Handlers {
  // Fills road, host_reason and the run-time flags of the arguments.
  std::function<void(OpInfo&)> describe;
  // Makes the program of a call that the table does not know.
  std::function<std::shared_ptr<Program>(const Frame&)> miss;
  // Told before an operator runs on the host; throws where policy forbids it.
  // Whether the run counts as a fallback.
  std::function<bool(const OpInfo&, const std::string& reason)> fallback;
  // The kernel of an operator for tensors of another layout than strided; empty where PyTorch's
  // own suits any device.
  std::function<BoxedFunction(const c10::OperatorHandle&, const char* layout)> layout_kernel;
};

Handlers& handlers();

}  // namespace neuron::dispatch
