// The parts of the extension module, each bound in its own file.
#pragma once

#include <pybind11/pybind11.h>

namespace neuron::python {

void init_pjrt(pybind11::module_& m);
void init_device(pybind11::module_& m);
void init_dispatch(pybind11::module_& m);
void init_graph(pybind11::module_& m);
void init_origin();  // nothing for Python: see device::set_origin

}  // namespace neuron::python
