// Programs that call PyTorch's own CPU kernels: the custom call "neuron_aten", whose
// attributes name an operator and give its plain arguments, runs it on the program's
// buffers. Written into programs by torch_neuronx/lowering/kernels.py.
#pragma once

namespace neuron::pjrt {
class Client;
}

namespace neuron::kernels {

// Registers the call with the client's plugin. Whether its programs can make it: the
// devices' memory is the host's, and the plugin's FFI is of a version we know.
bool install(const pjrt::Client& client);

// The threads that kernels may use, PyTorch's setting of the calling thread: the
// runtime's own threads would keep the one that they began with.
void follow_num_threads();

}  // namespace neuron::kernels
