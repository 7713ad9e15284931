// Conversions between the dispatcher's structures and their Python counterparts.
#pragma once

#include "csrc/dispatch/frame.h"
#include "csrc/dispatch/program.h"

#include <pybind11/pybind11.h>

#include <memory>

namespace neuron::python {

// torch.ops.<namespace>.<name>.<overload>
pybind11::object operator_object(const c10::OperatorHandle& op);
// torch_neuronx.eager.call.Call
pybind11::object call_object(const dispatch::Frame& frame);
// From torch_neuronx.eager.program: Launch, Resize, Host or Composite.
std::shared_ptr<dispatch::Program> to_program(const pybind11::object& program);

}  // namespace neuron::python
