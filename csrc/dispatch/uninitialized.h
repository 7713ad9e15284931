// What memory holds that nothing has written: zeros, unless it is to be filled as
// PyTorch fills it on other devices, so that a read before a write shows.
#pragma once

#include <ATen/core/Tensor.h>

namespace neuron::dispatch {

// TORCH_NEURONX_FILL_UNINITIALIZED_MEMORY.
void set_fill_uninitialized(bool fill);

// A new tensor: filled when the variable asks for it, or PyTorch's deterministic
// mode does, with NaN, an integer type's largest value, or True.
at::Tensor uninitialized(at::Tensor fresh);
// The same for what a storage gained since it had `old_nbytes`, seen as `tensor`'s dtype.
void fill_growth(const at::Tensor& tensor, size_t old_nbytes);

}  // namespace neuron::dispatch
