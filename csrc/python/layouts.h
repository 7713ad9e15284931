// Kernels in Python for tensors of other layouts than strided.
#pragma once

#include "csrc/dispatch/handlers.h"

namespace neuron::python {

// The kernel of an operator for tensors of `layout`; empty where PyTorch's own suits any device.
dispatch::BoxedFunction layout_kernel(const c10::OperatorHandle& op, const char* layout);

}  // namespace neuron::python
