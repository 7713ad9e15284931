// Registers the boxed kernel with PyTorch's dispatcher; called once, at import.
#pragma once

namespace neuron::dispatch {

void register_kernels();

}  // namespace neuron::dispatch
