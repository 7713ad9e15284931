// Runs a program on a frame: binds buffers, executes, wraps results, swaps slots.
#pragma once

#include "csrc/dispatch/frame.h"
#include "csrc/dispatch/program.h"

namespace neuron::dispatch {

// Replaces the frame's arguments on the stack by the operator's results.
void launch(const Program& program, Frame& frame);

// While set, launches run nothing: results are tensors without contents, written tensors keep
// theirs.
void set_compile_only(bool value);

// A fresh tensor whose storage holds `buffer`.
at::Tensor wrap_buffer(
    pjrt::BufferPtr buffer,
    c10::ScalarType dtype,
    c10::IntArrayRef sizes,
    c10::IntArrayRef strides,
    size_t nbytes
);

}  // namespace neuron::dispatch
