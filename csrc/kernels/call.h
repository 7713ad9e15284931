// One call of a kernel by a program: the operator and its arguments as the call frame
// has them, run through PyTorch's dispatcher, the results in the program's buffers.
#pragma once

#include "csrc/kernels/ffi.h"

namespace neuron::kernels {

// Runs the call. One that may fail has a status as its first result, int64 {failed,
// ticket}: what the kernel throws is kept (failures.h) and the other results are zeros.
// Else it is thrown, and so is what is wrong with the frame itself.
void run(const XLA_FFI_CallFrame& frame);

}  // namespace neuron::kernels
