// torch_neuronx._C: the C++ core as Python sees it.
#include "csrc/python/module.h"

PYBIND11_MODULE(_C, m) {
  m.doc() = "C++ core of the neuron device; use torch.neuron and torch_neuronx instead.";
  neuron::python::init_pjrt(m);
  neuron::python::init_device(m);
  neuron::python::init_dispatch(m);
  neuron::python::init_graph(m);
  neuron::python::init_origin();
}
