// Kernels in Python for tensors of other layouts than strided: torch_neuronx.layouts.
#include "csrc/python/layouts.h"

#include "csrc/python/convert.h"
#include "csrc/python/undisturbed.h"

#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/jit/python/pybind_utils.h>

namespace neuron::python {
namespace {

namespace py = pybind11;

// A number that stands for a tensor stays a tensor, which its dtype's promotion needs.
py::object to_python(const c10::Argument& argument, const c10::IValue& value) {
  if (value.isTensor() && value.toTensor().defined()) {
    return py::reinterpret_steal<py::object>(THPVariable_Wrap(value.toTensor()));
  }
  auto type = argument.real_type();
  if (auto optional = type->cast<c10::OptionalType>()) {
    type = optional->getElementType();
  }
  if (type->kind() == c10::TypeKind::ScalarTypeType && !value.isNone()) {
    return py::cast(value.toScalarType());
  }
  return torch::jit::toPyObject(value);
}

// Arguments go in the schema's order, and results come out by the schema's types.
void call(const py::handle function, const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const Undisturbed undisturbed;
  const auto& schema = op.schema();
  const size_t count = schema.arguments().size();
  py::tuple arguments(count);
  for (size_t i = 0; i < count; ++i) {
    arguments[i] = to_python(schema.arguments()[i], torch::jit::peek(*stack, i, count));
  }
  py::object result = function(*arguments);
  torch::jit::drop(*stack, count);
  const auto& returns = schema.returns();
  for (size_t i = 0; i < returns.size(); ++i) {
    py::object value = returns.size() == 1 ? result : py::object(result[py::int_(i)]);
    stack->push_back(torch::jit::toIValue(value, returns[i].type()));
  }
}

}  // namespace

dispatch::BoxedFunction layout_kernel(const c10::OperatorHandle& op, const char* layout) {
  const Undisturbed undisturbed;
  py::object function =
      py::module_::import("torch_neuronx.layouts").attr("kernel")(operator_object(op), layout);
  if (function.is_none()) {
    return {};
  }
  // Never released: the dispatcher may outlive the interpreter.
  const py::handle kept = function.release();
  return [kept](const c10::OperatorHandle& op, torch::jit::Stack* stack) { call(kept, op, stack); };
}

}  // namespace neuron::python
