// Run-time numbers as device buffers, cached by value: the learning rate of a
// step or the 2 of `x * 2` is uploaded once.
#pragma once

#include "csrc/pjrt/buffer.h"

#include <c10/core/ScalarType.h>

namespace neuron::dispatch {

// A buffer of `dims` (0-d for a number) with these bytes; cached when 0-d.
pjrt::BufferPtr number_buffer(
    c10::ScalarType dtype, c10::ArrayRef<uint8_t> bytes, c10::IntArrayRef dims, int device
);
// Drops all cached numbers.
void clear_numbers();

}  // namespace neuron::dispatch
