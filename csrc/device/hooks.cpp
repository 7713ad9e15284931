// What ATen asks of the backend when no tensor is at hand: availability, current
// device, generators, pinned memory.
#include "csrc/device/device.h"
#include "csrc/device/generator.h"
#include "csrc/device/host_allocator.h"
#include "csrc/device/runtime.h"
#include "csrc/device/slot.h"
#include "csrc/dispatch/resize.h"

#include <ATen/detail/PrivateUse1HooksInterface.h>

namespace neuron::device {

namespace {

class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  bool isBuilt() const override {
    return true;
  }

  bool isAvailable() const override {
    return Runtime::get().device_count() > 0;
  }

  bool hasPrimaryContext(c10::DeviceIndex) const override {
    return Runtime::get().initialized();
  }

  void init() const override {
    static_cast<void>(Runtime::get().client());
  }

  c10::DeviceIndex deviceCount() const override {
    return static_cast<c10::DeviceIndex>(Runtime::get().device_count());
  }

  void setCurrentDevice(c10::DeviceIndex device) const override {
    set_device(device);
  }

  c10::DeviceIndex getCurrentDevice() const override {
    return static_cast<c10::DeviceIndex>(current_device());
  }

  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    return static_cast<c10::DeviceIndex>(exchange_device(device));
  }

  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
    return static_cast<c10::DeviceIndex>(exchange_device(device));
  }

  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override {
    return default_generator(device);
  }

  at::Generator getNewGenerator(c10::DeviceIndex device) const override {
    return at::make_generator<GeneratorImpl>(static_cast<c10::DeviceIndex>(check_device(device)));
  }

  at::Device getDeviceFromPtr(void* data) const override {
    const int device = device_of_address(data);
    TORCH_CHECK(device >= 0, "The pointer ", data, " does not belong to a neuron tensor.");
    return {kDeviceType, static_cast<c10::DeviceIndex>(device)};
  }

  bool isPinnedPtr(const void* data) const override {
    return is_pinned(data);
  }

  at::Allocator* getPinnedMemoryAllocator() const override {
    return &host_allocator();
  }

  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t nbytes) const override {
    dispatch::resize_storage(storage.unsafeGetStorageImpl(), nbytes);
  }
};

[[maybe_unused]] const bool registered = [] {
  at::RegisterPrivateUse1HooksInterface(new Hooks());
  return true;
}();

}  // namespace

}  // namespace neuron::device
