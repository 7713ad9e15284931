// Kernels for tensors that are not strided: sparse (COO and compressed) and nested.
#pragma once

namespace neuron::dispatch {

// Once, after register_kernels and at import.
void register_layout_kernels();

}  // namespace neuron::dispatch
