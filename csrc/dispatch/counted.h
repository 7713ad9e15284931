// Tensors whose sizes the data decides: a program computes them with room for the
// largest, packed to the front, and says how much of the room they take.
#pragma once

#include "csrc/dispatch/program.h"

#include <ATen/core/Tensor.h>

namespace neuron::dispatch {

// The counts of a program's results, read from the device: 8 bytes each.
std::vector<int64_t> read_counts(const Program& program, c10::ArrayRef<pjrt::BufferPtr> buffers);

// The tensor of a result that has one of `counts`.
at::Tensor counted_tensor(pjrt::BufferPtr buffer, const Result& result, c10::IntArrayRef counts);

// A contiguous tensor of `sizes` with the first elements of the contiguous `room`.
at::Tensor front_of(const at::Tensor& room, c10::IntArrayRef sizes);

}  // namespace neuron::dispatch
