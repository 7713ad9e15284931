// The one boxed kernel behind every operator of the device.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace neuron::dispatch {

void boxed_kernel(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace neuron::dispatch
