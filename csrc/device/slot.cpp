#include "csrc/device/slot.h"

#include "csrc/device/device.h"
#include "csrc/device/runtime.h"

#include <c10/util/Exception.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

namespace neuron::device {

namespace {

constexpr int kMinRangeBits = 9;   // ranges are at least 512 bytes, and aligned to it
constexpr int kMaxRangeBits = 46;  // half of a 47-bit user address space
constexpr int kMinReservedBits = 36;
constexpr int kClasses = kMaxRangeBits - kMinRangeBits + 1;
constexpr int kEmptyClass = kClasses;  // slots of 0 bytes: no range

int size_class_of(size_t nbytes) {
  if (nbytes == 0) return kEmptyClass;
  return std::max<int>(std::bit_width(nbytes - 1), kMinRangeBits) - kMinRangeBits;
}

// A span of addresses that nothing can read or write.
struct AddressRange {
  char* begin = nullptr;
  char* end = nullptr;

  static AddressRange reserve() {
    for (int bits = kMaxRangeBits; bits >= kMinReservedBits; --bits) {
      const size_t size = size_t{1} << bits;
      void* base =
          mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (base != MAP_FAILED) return {static_cast<char*>(base), static_cast<char*>(base) + size};
    }
    TORCH_CHECK(
        false,
        "Cannot reserve ",
        (size_t{1} << kMinReservedBits) >> 30,
        " GiB of address space for neuron tensors; is the process's virtual memory limited "
        "(ulimit -v)?"
    );
  }
};

}  // namespace

// Ranges are cut from the front of the reserved span, in power-of-two sizes, and go
// back to a free list of their size together with their slot.
class SlotPool {
 public:
  static SlotPool& get() {
    static SlotPool* const pool = new SlotPool();
    return *pool;
  }

  Slot* acquire(size_t nbytes, int device) {
    TORCH_CHECK_WITH(
        OutOfMemoryError,
        nbytes <= (size_t{1} << kMaxRangeBits),
        "neuron out of memory. Tried to "
        "allocate ",
        nbytes,
        " bytes, more than any address range."
    );
    const int size_class = size_class_of(nbytes);
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<Slot*>& free = free_[size_class];
    if (free.empty()) free.push_back(create(size_class));
    Slot* slot = free.back();
    free.pop_back();
    slot->device_ = device;
    return slot;
  }

  void release(Slot* slot) {
    std::lock_guard<std::mutex> lock(mutex_);
    free_[slot->size_class_].push_back(slot);
  }

  Slot* find(const char* address) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (address < range_.begin || address >= next_) return nullptr;
    const auto after = std::upper_bound(
        by_address_.begin(),
        by_address_.end(),
        address,
        [](const char* a, const std::unique_ptr<Slot>& slot) { return a < slot->address_; }
    );
    return std::prev(after)->get();
  }

  std::vector<const Slot*> in_use() {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<const Slot*> slots;
    for (const auto& slot : by_address_) {
      if (slot->buffer()) slots.push_back(slot.get());
    }
    return slots;
  }

 private:
  Slot* create(int size_class) {
    if (size_class == kEmptyClass) {
      return empty_.emplace_back(std::make_unique<Slot>(nullptr, size_class)).get();
    }
    if (range_.begin == nullptr) {
      range_ = AddressRange::reserve();
      next_ = range_.begin;
    }
    const size_t size = size_t{1} << (size_class + kMinRangeBits);
    TORCH_CHECK_WITH(
        OutOfMemoryError,
        size <= static_cast<size_t>(range_.end - next_),
        "neuron out of memory. "
        "The address space reserved for tensors is used up."
    );
    by_address_.push_back(std::make_unique<Slot>(next_, size_class));
    next_ += size;
    return by_address_.back().get();
  }

  std::mutex mutex_;
  AddressRange range_;
  char* next_ = nullptr;  // everything before it belongs to a slot
  std::array<std::vector<Slot*>, kClasses + 1> free_;
  std::vector<std::unique_ptr<Slot>> by_address_;  // ascending, because cut from the front
  std::vector<std::unique_ptr<Slot>> empty_;
};

namespace {

void release_slot(void* context) {
  // In a forked child the runtime's threads are gone and locks may be held by nobody:
  // freeing the parent's buffer could wait forever, so it is left alone.
  if (Runtime::get().in_bad_fork()) return;
  Slot* slot = static_cast<Slot*>(context);
  slot->set_buffer({});
  SlotPool::get().release(slot);
}

}  // namespace

c10::DataPtr make_slot(size_t nbytes, int device) {
  Slot* slot = SlotPool::get().acquire(nbytes, device);
  const c10::Device where(kDeviceType, static_cast<c10::DeviceIndex>(device));
  return {slot->address(), slot, &release_slot, where};
}

bool is_slot(const c10::DataPtr& data) {
  return data.get_deleter() == &release_slot;
}

Slot* slot_of(const c10::StorageImpl& storage) {
  const c10::DataPtr& data = storage.data_ptr();
  if (C10_LIKELY(is_slot(data))) return static_cast<Slot*>(data.get_context());
  // A DataPtr that wraps ours (copy-on-write) keeps the address.
  return slot_at(data.get());
}

Slot* slot_at(const void* address) {
  return SlotPool::get().find(static_cast<const char*>(address));
}

std::vector<const Slot*> slots_in_use() {
  return SlotPool::get().in_use();
}

int device_of_address(const void* address) {
  const Slot* slot = slot_at(address);
  return slot == nullptr ? -1 : slot->device();
}

}  // namespace neuron::device
