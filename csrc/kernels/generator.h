// PyTorch's CPU generator at a state of the device's, for kernels that draw numbers.
#pragma once

#include <ATen/core/Generator.h>

#include <cstdint>

namespace neuron::kernels {

// A generator whose numbers are a function of `state`, the device's (seed, offset).
at::Generator make_generator(const uint64_t* state);

}  // namespace neuron::kernels
