// Python bindings of csrc/pjrt: torch_neuronx._C's Client, Executable, Buffer
// and Event. torch_neuronx.runtime compiles and inspects platforms with them,
// tests/runtime/ uses all of them; tensors never pass through here.
#include "csrc/pjrt/client.h"
#include "csrc/python/module.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <string>
#include <vector>

namespace py = pybind11;

namespace neuron::python {
namespace {

using pjrt::Buffer;
using pjrt::BufferPtr;
using pjrt::Client;
using pjrt::Event;
using pjrt::Executable;
using NoGil = py::call_guard<py::gil_scoped_release>;

// c10's exceptions as torch's own extension raises them, without the C++ backtrace.
void translate(std::exception_ptr pointer) {
  try {
    if (pointer) {
      std::rethrow_exception(pointer);
    }
  } catch (const c10::Error&) {
    torch::translate_exception_to_python(pointer);
  }
}

template <void (Buffer::*read)(void*) const>
py::bytes to_bytes(const Buffer& buffer) {
  std::string contents(buffer.nbytes(), '\0');
  {
    py::gil_scoped_release no_gil;
    (buffer.*read)(contents.data());
  }
  return py::bytes(contents);
}

BufferPtr buffer_from_bytes(
    Client& client,
    const std::string& data,
    at::ScalarType dtype,
    const std::vector<int64_t>& dims,
    int device
) {
  TORCH_CHECK_VALUE(
      data.size() == pjrt::buffer_nbytes(dtype, dims),
      "expected ",
      pjrt::buffer_nbytes(dtype, dims),
      " bytes but got ",
      data.size()
  );
  return client.from_host(data.data(), dtype, dims, device);
}

using Results = std::vector<std::pair<at::ScalarType, std::vector<int64_t>>>;

py::list wrap_outputs(
    const py::object& client,
    const std::vector<PJRT_Buffer*>& outputs,
    const Results& results,
    int device
) {
  py::list buffers;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& [dtype, dims] = results[i];
    py::object buffer = py::cast(
        c10::make_intrusive<Buffer>(client.cast<Client&>(), outputs[i], dtype, dims, device)
    );
    py::detail::keep_alive_impl(buffer, client);
    buffers.append(std::move(buffer));
  }
  return buffers;
}

// (output buffers, event of completion); `results` are the outputs' dtypes and dims.
py::tuple execute(
    const py::object& client,
    const Executable& executable,
    const std::vector<BufferPtr>& arguments,
    const Results& results,
    const std::vector<int64_t>& non_donatable,
    int device
) {
  TORCH_CHECK_VALUE(
      results.size() == executable.num_outputs(),
      "the program has ",
      executable.num_outputs(),
      " outputs but ",
      results.size(),
      " results were described"
  );
  std::vector<PJRT_Buffer*> inputs;
  for (const BufferPtr& argument : arguments) {
    inputs.push_back(argument->handle());
  }
  std::vector<PJRT_Buffer*> outputs(results.size());
  py::object done = py::cast(executable.execute(inputs, non_donatable, outputs, device));
  py::detail::keep_alive_impl(done, client);
  return py::make_tuple(wrap_outputs(client, outputs, results, device), done);
}

// The runtime may call from a thread of its own and drop the function there.
void on_ready(const Event& event, py::function callback) {
  const auto release = [](py::function* function) {
    py::gil_scoped_acquire gil;
    delete function;
  };
  std::shared_ptr<py::function> shared(new py::function(std::move(callback)), release);
  py::gil_scoped_release no_gil;
  event.on_ready([shared](const std::string& message) {
    py::gil_scoped_acquire gil;
    try {
      (*shared)(message);
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable(*shared);
    }
  });
}

void bind_buffer(py::module_& m) {
  py::class_<Buffer, BufferPtr>(m, "Buffer", "Immutable contents on a device.")
      .def_property_readonly("dtype", &Buffer::dtype)
      .def_property_readonly("dims", [](const Buffer& self) { return self.dims().vec(); })
      .def_property_readonly("device", &Buffer::device)
      .def_property_readonly("nbytes", &Buffer::nbytes)
      .def("to_host", &to_bytes<&Buffer::to_host>, "The contents as bytes, row-major.")
      .def(
          "copy_to_host",
          &to_bytes<&Buffer::copy_to_host>,
          "The same, never by reading the device's memory in place."
      )
      .def("ready", &Buffer::ready, py::keep_alive<0, 1>())
      .def("donated", &Buffer::donated)
      .def("copy_to_device", &Buffer::copy_to_device, py::keep_alive<0, 1>(), NoGil());
  py::class_<Event>(m, "PjrtEvent", "Completion of device work.")
      .def("is_ready", &Event::is_ready)
      .def(
          "wait", [](const Event& self) { self.await(); }, NoGil()
      )
      .def("on_ready", &on_ready, "Calls back with an error message, empty on success.");
}

void bind_executable(py::module_& m) {
  py::class_<Executable, std::shared_ptr<Executable>>(m, "Executable", "A compiled program.")
      .def_property_readonly("num_outputs", &Executable::num_outputs)
      .def_property_readonly(
          "code_bytes", &Executable::code_bytes, "Size of the machine code, 0 where unknown."
      )
      .def("serialize", [](const Executable& self) {
        std::string bytes;
        {
          py::gil_scoped_release no_gil;
          bytes = self.serialize();
        }
        return py::bytes(bytes);
      });
}

std::shared_ptr<Executable> compile(
    Client& client, const std::string& program, const std::string& options
) {
  return client.compile(program, options);
}

std::shared_ptr<Executable> deserialize(
    Client& client, const std::string& serialized, const std::string& options
) {
  return client.deserialize(serialized, options);
}

// Statistics by PyTorch's name, each (current, peak, allocated, freed).
py::dict memory_stats(Client& client, int device) {
  const auto stats = client.memory(device).stats();
  const auto all = [](const c10::CachingAllocator::StatArray& array) {
    const auto& stat = array[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
    return py::make_tuple(stat.current, stat.peak, stat.allocated, stat.freed);
  };
  py::dict result;
  result["allocation"] = all(stats.allocation);
  result["allocated_bytes"] = all(stats.allocated_bytes);
  result["reserved_bytes"] = all(stats.reserved_bytes);
  result["num_ooms"] = stats.num_ooms;
  return result;
}

void bind_client_information(py::class_<Client>& client) {
  client.def_property_readonly("platform_name", &Client::platform_name)
      .def_property_readonly("platform_version", &Client::platform_version)
      .def_property_readonly("plugin_path", &Client::plugin_path)
      .def_property_readonly("api_version", &Client::api_version)
      .def_property_readonly("attributes", &Client::attributes)
      .def_property_readonly("extensions", &Client::extensions)
      .def_property_readonly("device_count", &Client::device_count)
      .def_property_readonly("host_memory", &Client::host_memory)
      .def("device_memory_stats", &Client::device_memory_stats, py::arg("device") = 0)
      .def("memory_stats", &memory_stats, py::arg("device") = 0)
      .def(
          "memory_limit",
          [](Client& self, int device) { return self.memory(device).limit(); },
          py::arg("device") = 0
      )
      .def(
          "set_memory_limit",
          [](Client& self, size_t bytes, int device) { self.memory(device).set_limit(bytes); },
          py::arg("bytes"),
          py::arg("device") = 0
      )
      .def(
          "reset_peak_memory",
          [](Client& self, int device) { self.memory(device).reset_peak(); },
          py::arg("device") = 0
      )
      .def(
          "reset_accumulated_memory",
          [](Client& self, int device) { self.memory(device).reset_accumulated(); },
          py::arg("device") = 0
      );
}

// Buffers, events and executables keep their client alive.
void bind_client(py::module_& m) {
  py::class_<Client> client(m, "Client", "An opened PJRT plugin.");
  client
      .def_static(
          "open",
          &Client::open,
          py::arg("path"),
          py::arg("options") = std::map<std::string, pjrt::Option>{},
          NoGil()
      )
      .def(
          "compile",
          &compile,
          py::arg("program"),
          py::arg("options"),
          py::keep_alive<0, 1>(),
          NoGil()
      )
      .def(
          "deserialize",
          &deserialize,
          py::arg("serialized"),
          py::arg("options") = "",
          py::keep_alive<0, 1>(),
          NoGil()
      )
      .def(
          "from_host",
          &buffer_from_bytes,
          py::arg("data"),
          py::arg("dtype"),
          py::arg("dims"),
          py::arg("device") = 0,
          py::keep_alive<0, 1>(),
          NoGil()
      )
      .def(
          "execute",
          &execute,
          py::arg("executable"),
          py::arg("arguments"),
          py::arg("results"),
          py::arg("non_donatable") = std::vector<int64_t>{},
          py::arg("device") = 0
      );
  bind_client_information(client);
}

}  // namespace

void init_pjrt(py::module_& m) {
  py::register_local_exception_translator(&translate);
  bind_buffer(m);
  bind_executable(m);
  bind_client(m);
}

}  // namespace neuron::python
