// torch.neuron's way into the C++ core; the Python side is torch_neuronx/device.
#include "csrc/device/device.h"
#include "csrc/device/generator.h"
#include "csrc/device/runtime.h"
#include "csrc/device/slot.h"
#include "csrc/device/stream.h"
#include "csrc/dispatch/table.h"
#include "csrc/dispatch/uninitialized.h"
#include "csrc/python/module.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <utility>

namespace neuron::python {

namespace {

namespace py = pybind11;
using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;
using device::Runtime;

// torch_neuronx.runtime.platforms.resolve(), its errors as c10's: they may cross
// threads that do not hold the GIL.
device::PlatformConfig resolve_platform() {
  py::gil_scoped_acquire gil;
  try {
    const py::module_ settings = py::module_::import("torch_neuronx.runtime.config");
    device::set_launch_blocking(settings.attr("LAUNCH_BLOCKING").attr("value")().cast<bool>());
    dispatch::set_fill_uninitialized(
        settings.attr("FILL_UNINITIALIZED_MEMORY").attr("value")().cast<bool>()
    );
    dispatch::set_program_limit(settings.attr("MODEL_CACHE_SIZE").attr("value")().cast<size_t>());
    const py::object platform =
        py::module_::import("torch_neuronx.runtime.platforms").attr("resolve")();
    device::PlatformConfig config;
    config.plugin_path = platform.attr("plugin_path").cast<std::string>();
    for (const auto& [name, value] : platform.attr("options").cast<py::dict>()) {
      // bool before int: a Python bool is an int, and the variant tries in its order.
      auto& option = config.options[name.cast<std::string>()];
      if (py::isinstance<py::bool_>(value)) {
        option = value.cast<bool>();
      } else {
        option = value.cast<pjrt::Option>();
      }
    }
    return config;
  } catch (py::error_already_set& error) {
    const std::string message = py::str(error.value());
    TORCH_CHECK_VALUE(!error.matches(PyExc_ValueError), message);
    TORCH_CHECK(false, message);
  }
}

py::dict stat_dict(const Stat& stat) {
  py::dict result;
  result["current"] = stat.current;
  result["peak"] = stat.peak;
  result["allocated"] = stat.allocated;
  result["freed"] = stat.freed;
  return result;
}

// By pool, in StatType's order.
py::dict pools_dict(const StatArray& stats) {
  constexpr const char* kPools[] = {"all", "small_pool", "large_pool"};
  py::dict result;
  for (size_t pool = 0; pool < stats.size(); ++pool) {
    result[kPools[pool]] = stat_dict(stats[pool]);
  }
  return result;
}

// Nested, with PyTorch's names; all zeros before the device is initialized.
py::dict memory_stats(int index) {
  const auto stats =
      c10::getDeviceAllocator(device::kDeviceType)
          ->getDeviceStats(static_cast<c10::DeviceIndex>(device::check_device(index)));
  py::dict result;
  result["allocation"] = pools_dict(stats.allocation);
  result["segment"] = pools_dict(stats.segment);
  result["active"] = pools_dict(stats.active);
  result["inactive_split"] = pools_dict(stats.inactive_split);
  result["allocated_bytes"] = pools_dict(stats.allocated_bytes);
  result["reserved_bytes"] = pools_dict(stats.reserved_bytes);
  result["active_bytes"] = pools_dict(stats.active_bytes);
  result["inactive_split_bytes"] = pools_dict(stats.inactive_split_bytes);
  result["requested_bytes"] = pools_dict(stats.requested_bytes);
  result["oversize_allocations"] = stat_dict(stats.oversize_allocations);
  result["oversize_segments"] = stat_dict(stats.oversize_segments);
  result["num_alloc_retries"] = stats.num_alloc_retries;
  result["num_ooms"] = stats.num_ooms;
  result["num_sync_all_streams"] = stats.num_sync_all_streams;
  result["num_device_alloc"] = stats.num_device_alloc;
  result["num_device_free"] = stats.num_device_free;
  result["max_split_size"] = stats.max_split_size;
  return result;
}

// (address, device, bytes) of every storage that holds device memory.
std::vector<std::tuple<uintptr_t, int, size_t>> memory_in_use() {
  std::vector<std::tuple<uintptr_t, int, size_t>> result;
  for (const device::Slot* slot : device::slots_in_use()) {
    // Another thread may have dropped it meanwhile.
    const pjrt::BufferPtr buffer = slot->buffer();
    if (!buffer) continue;
    const auto address = reinterpret_cast<uintptr_t>(slot->address());
    result.emplace_back(address, buffer->device(), buffer->nbytes());
  }
  return result;
}

void init_runtime(py::module_& m) {
  m.def(
      "client",
      []() -> pjrt::Client& { return Runtime::get().client(); },
      py::return_value_policy::reference,
      "The process's client, opened by the first call."
  );
  m.def(
      "_runs_kernels",
      [] { return Runtime::get().runs_kernels(); },
      "Whether programs can call PyTorch's own kernels. Opens the client."
  );
  m.def("_is_initialized", [] { return Runtime::get().initialized(); });
  m.def("_in_bad_fork", [] { return Runtime::get().in_bad_fork(); });
  m.def("_device_count", [] { return Runtime::get().device_count(); });
  m.def("_current_device", &device::current_device);
  m.def("_check_device", &device::check_device, "The index itself; the current device for -1.");
  m.def("_set_device", &device::set_device);
  m.def("_exchange_device", &device::exchange_device);
  m.def("_synchronize", &device::synchronize_device, py::call_guard<py::gil_scoped_release>());
  m.def("_default_generator", [](int index) { return device::default_generator(index); });
}

void init_memory(py::module_& m) {
  m.def("_memory_stats", &memory_stats);
  m.def("_bytes_read", &device::bytes_read, "Bytes that the host has read from devices.");
  m.def("_memory_in_use", &memory_in_use);
  m.def("_memory_info", [](int index) {
    return c10::getDeviceAllocator(device::kDeviceType)
        ->getMemoryInfo(static_cast<c10::DeviceIndex>(device::check_device(index)));
  });
  m.def("_total_memory", [](int index) { return Runtime::get().total_memory(index); });
  m.def("_reset_peak_memory_stats", [](int index) {
    c10::getDeviceAllocator(device::kDeviceType)
        ->resetPeakStats(static_cast<c10::DeviceIndex>(device::check_device(index)));
  });
  m.def("_reset_accumulated_memory_stats", [](int index) {
    c10::getDeviceAllocator(device::kDeviceType)
        ->resetAccumulatedStats(static_cast<c10::DeviceIndex>(device::check_device(index)));
  });
}

}  // namespace

void init_device(py::module_& m) {
  Runtime::get().set_platform(&resolve_platform);
  init_runtime(m);
  init_memory(m);
}

}  // namespace neuron::python
