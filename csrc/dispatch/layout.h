// Memory order of strided tensors: which physical shape their dense buffer has.
#pragma once

#include "csrc/pjrt/buffer.h"

#include <ATen/core/TensorBase.h>

#include <optional>

namespace neuron::dispatch {

// The dims of a row-major buffer that holds exactly the elements of `tensor` in
// memory order; nothing when the tensor overlaps itself or has gaps.
std::optional<pjrt::Dims> physical_dims(const at::TensorBase& tensor);

// Whether the tensor is dense and all of its storage.
bool covers_storage(const at::TensorBase& tensor);

}  // namespace neuron::dispatch
