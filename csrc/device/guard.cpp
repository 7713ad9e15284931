// The device guard: c10's access to devices, streams and events of this backend.
#include "csrc/device/device.h"
#include "csrc/device/event.h"
#include "csrc/device/runtime.h"
#include "csrc/device/stream.h"
#include "csrc/pjrt/dtype.h"

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceCapability.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <memory>

namespace neuron::device {

namespace {

c10::Device make_device(int index) {
  return {kDeviceType, static_cast<c10::DeviceIndex>(index)};
}

bool has_element_type(c10::ScalarType dtype) {
  try {
    static_cast<void>(pjrt::to_pjrt_type(dtype));
    return true;
  } catch (const c10::NotImplementedError&) {
    return false;
  }
}

// One bit per dtype, by its number.
c10::DeviceCapability capability() {
  c10::DeviceCapability capability;  // everything
  uint64_t& bits = capability.capability_data.capability_bits;
  c10::DeviceCapability().forEachSupportedScalarType([&](c10::ScalarType dtype) {
    if (!has_element_type(dtype)) bits &= ~(uint64_t{1} << static_cast<int>(dtype));
  });
  return capability;
}

class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override {
    return kDeviceType;
  }

  c10::Device exchangeDevice(c10::Device device) const override {
    return make_device(exchange_device(device.index()));
  }

  c10::Device getDevice() const override {
    return make_device(current_device());
  }

  void setDevice(c10::Device device) const override {
    set_device(device.index());
  }

  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.has_index()) unchecked_set_device(device.index());
  }

  c10::DeviceIndex deviceCount() const noexcept override {
    return static_cast<c10::DeviceIndex>(Runtime::get().device_count());
  }

  c10::DeviceCapability getDeviceCapability(c10::Device) const override {
    return capability();
  }

  c10::Stream getStream(c10::Device device) const override {
    return current_stream(device.index());
  }

  c10::Stream getDefaultStream(c10::Device device) const override {
    return default_stream(device.index());
  }

  c10::Stream getNewStream(c10::Device device, int) const override {
    return new_stream(device.index());
  }

  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override {
    return new_stream(device.index());
  }

  c10::Stream exchangeStream(c10::Stream stream) const override {
    return exchange_stream(stream);
  }

  bool queryStream(const c10::Stream& stream) const override {
    return query_stream(stream);
  }

  void synchronizeStream(const c10::Stream& stream) const override {
    synchronize_stream(stream);
  }

  void synchronizeDevice(c10::DeviceIndex device) const override {
    synchronize_device(device);
  }

  // Buffers are kept alive by the programs that use them, on every stream.
  void recordDataPtrOnStream(const c10::DataPtr&, const c10::Stream&) const override {}

  void record(void** event, const c10::Stream& stream, c10::DeviceIndex device, c10::EventFlag)
      const override {
    TORCH_CHECK(
        device == -1 || device == stream.device_index(),
        "Event device index ",
        int{device},
        " does not match recording stream's device index ",
        int{stream.device_index()},
        "."
    );
    if (*event == nullptr) *event = new Event();
    static_cast<Event*>(*event)->record(stream);
  }

  void block(void* event, const c10::Stream& stream) const override {
    if (event != nullptr) static_cast<Event*>(event)->block(stream);
  }

  bool queryEvent(void* event) const override {
    return event == nullptr || static_cast<Event*>(event)->query();
  }

  void synchronizeEvent(void* event) const override {
    if (event != nullptr) static_cast<Event*>(event)->synchronize();
  }

  double elapsedTime(void* start, void* end, c10::DeviceIndex) const override {
    TORCH_CHECK_VALUE(
        start && end, "Both events must be recorded before calculating elapsed time."
    );
    return static_cast<Event*>(start)->elapsed_ms(*static_cast<Event*>(end));
  }

  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override {
    delete static_cast<Event*>(event);
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

// Tensor.record_stream: as recordDataPtrOnStream.
void record_stream(at::Tensor&, c10::Stream) {}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("record_stream", &record_stream);
}

}  // namespace

}  // namespace neuron::device
