// torch_neuronx._C.Graph: a graph of torch.compile as a callable on Python's tensors and numbers.
#include "csrc/dispatch/graph.h"
#include "csrc/dispatch/launch.h"

#include "csrc/device/runtime.h"
#include "csrc/python/convert.h"
#include "csrc/python/module.h"
#include "csrc/python/undisturbed.h"

#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace neuron::python {
namespace {

namespace py = pybind11;
using dispatch::Graph;

// Python objects are destroyed with the GIL, whoever drops the last reference.
dispatch::Graph::Miss miss_handler(py::object function) {
  std::shared_ptr<py::object> held(new py::object(std::move(function)), [](py::object* object) {
    py::gil_scoped_acquire gil;
    delete object;
  });
  return [held](const dispatch::Frame& frame) {
    device::Runtime::get().check_fork();
    const Undisturbed undisturbed;
    return to_program((*held)(call_object(frame)));
  };
}

c10::IValue number(PyObject* object) {
  if (PyBool_Check(object)) {
    return object == Py_True;
  }
  if (PyFloat_Check(object)) {
    return PyFloat_AS_DOUBLE(object);
  }
  return py::cast<int64_t>(object);
}

PyObject* to_python(c10::IValue& value) {
  if (value.isTensor()) {
    return THPVariable_Wrap(std::move(value).toTensor());
  }
  if (value.isBool()) {
    return PyBool_FromLong(value.toBool());
  }
  if (value.isInt()) {
    return PyLong_FromLongLong(value.toInt());
  }
  if (value.isDouble()) {
    return PyFloat_FromDouble(value.toDouble());
  }
  return Py_NewRef(Py_None);
}

// Whether a tensor is referenced by its Python object and one C++ list alone. A Python object
// holds its tensor, and is held by it for as long as C++ does too.
bool is_given_away(PyObject* object) {
  return Py_REFCNT(object) == 1 && THPVariable_Unpack(object).use_count() == 2;
}

// Takes the arguments out of the list, as boxed callables do: the caller's list no longer keeps
// the tensors alive.
py::list call(Graph& graph, py::list& args) {
  c10::List<at::Tensor> inputs;
  c10::impl::GenericList sizes(c10::AnyType::get());
  inputs.reserve(args.size());
  std::vector<PyObject*> on_device;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args.ptr()); ++i) {
    PyObject* object = PyList_GET_ITEM(args.ptr(), i);
    if (THPVariable_Check(object)) {
      inputs.push_back(THPVariable_Unpack(object));
      if (graph.takes_memory() && THPVariable_Unpack(object).is_privateuseone()) {
        on_device.push_back(object);
      }
    } else {
      sizes.push_back(number(object));
    }
  }
  if (PyList_SetSlice(args.ptr(), 0, PyList_GET_SIZE(args.ptr()), nullptr) != 0) {
    throw py::error_already_set();
  }
  std::vector<bool> given_away(on_device.size());
  std::transform(on_device.begin(), on_device.end(), given_away.begin(), is_given_away);
  torch::jit::Stack outputs;
  {
    py::gil_scoped_release no_gil;
    outputs = graph.run(std::move(inputs), std::move(sizes), std::move(given_away));
  }
  py::list results(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    PyList_SET_ITEM(results.ptr(), static_cast<Py_ssize_t>(i), to_python(outputs[i]));
  }
  return results;
}

}  // namespace

void init_graph(py::module_& m) {
  m.def("set_compile_only", &dispatch::set_compile_only, py::arg("value"));
  py::class_<Graph>(m, "Graph", "A graph of torch.compile; one program per key of its inputs.")
      .def(
          py::init([](const std::string& name, int device, bool takes_memory, py::object miss) {
            return std::make_unique<Graph>(
                name, device, takes_memory, miss_handler(std::move(miss))
            );
          }),
          py::arg("name"),
          py::arg("device"),
          py::arg("takes_memory"),
          py::arg("miss")
      )
      .def("run", &call, py::arg("args"), "Empties the list `args`; returns the results.");
}

}  // namespace neuron::python
