// The device allocator: storages are slots without a buffer, so allocating costs
// no device memory. Bytes are counted where buffers are made (csrc/pjrt/memory.h);
// this class only reports them, and refuses at once what can never fit.
#include "csrc/device/device.h"
#include "csrc/device/runtime.h"
#include "csrc/device/slot.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/util/Exception.h>

#include <algorithm>

namespace neuron::device {

namespace {

class Allocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t nbytes) override {
    const int device = current_device();
    Runtime::get().client().memory(device).reserve_check(nbytes);
    return make_slot(nbytes, device);
  }

  bool is_simple_data_ptr(const c10::DataPtr& data) const override {
    return is_slot(data);
  }

  // Buffers are immutable, so a copy of a whole storage is one more reference.
  void copy_data(void* dest, const void* src, size_t count) const override {
    Slot* to = slot_at(dest);
    const Slot* from = slot_at(src);
    TORCH_INTERNAL_ASSERT(to != nullptr && from != nullptr, "copy_data outside neuron storages");
    const pjrt::BufferPtr buffer = from->buffer();
    TORCH_INTERNAL_ASSERT(
        src == from->address() && dest == to->address() && (!buffer || buffer->nbytes() == count),
        "copy_data of a part of a neuron storage"
    );
    to->set_buffer(buffer);
  }

  bool initialized() override {
    return Runtime::get().initialized();
  }

  // Freed buffers go back to the runtime at once: there is nothing to empty.
  void emptyCache(c10::MempoolId_t) override {
    if (Runtime::get().initialized() && Runtime::get().client().host_memory()) {
      pjrt::release_freed_memory();
    }
  }

  // A running program holds references to its buffers, whatever its stream.
  void recordStream(const c10::DataPtr&, c10::Stream) override {}

  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    if (!initialized()) return {};
    return memory(device).stats();
  }

  void resetAccumulatedStats(c10::DeviceIndex device) override {
    if (initialized()) memory(device).reset_accumulated();
  }

  void resetPeakStats(c10::DeviceIndex device) override {
    if (initialized()) memory(device).reset_peak();
  }

  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override {
    const pjrt::MemoryAccounting& accounting = memory(device);
    const size_t total = Runtime::get().total_memory(device);
    const size_t usable = std::min(total, accounting.limit());
    return {usable - std::min(usable, accounting.used()), total};
  }

 private:
  static pjrt::MemoryAccounting& memory(int device) {
    return Runtime::get().client().memory(check_device(device));
  }
};

Allocator allocator;
REGISTER_ALLOCATOR(kDeviceType, &allocator)

}  // namespace

}  // namespace neuron::device
