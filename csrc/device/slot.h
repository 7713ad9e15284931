// A slot: what a storage's DataPtr owns. One mutable pointer to an immutable
// device buffer, at a stable virtual address.
//
// The address comes from a reserved, unmapped range: it identifies aliasing,
// keeps data_ptr() arithmetic true, and faults when host code dereferences it.
#pragma once

#include "csrc/pjrt/buffer.h"

#include <c10/core/Storage.h>
#include <c10/core/TensorImpl.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace neuron::device {

// For a pointer's copy or swap: a mutex costs more than what it would guard.
class SpinLock {
 public:
  void lock() noexcept {
    while (flag_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  }
  void unlock() noexcept {
    flag_.clear(std::memory_order_release);
  }

 private:
  std::atomic_flag flag_;
};

class Slot {
 public:
  // Slots are made by make_slot and belong to it: they are reused, never freed.
  Slot(void* address, int size_class) : address_(address), size_class_(size_class) {}

  // Null until something is written: torch.empty allocates nothing.
  pjrt::BufferPtr buffer() const {
    std::lock_guard<SpinLock> lock(mutex_);
    return buffer_;
  }
  // Drops the old buffer after the lock is released: freeing one may take long.
  void set_buffer(pjrt::BufferPtr buffer) {
    std::lock_guard<SpinLock> lock(mutex_);
    buffer_.swap(buffer);
  }
  int device() const {
    return device_;
  }
  // First byte of the slot's own range; nullptr for a slot of 0 bytes.
  void* address() const {
    return address_;
  }

 private:
  friend class SlotPool;

  mutable SpinLock mutex_;
  pjrt::BufferPtr buffer_;
  void* const address_;
  const int size_class_;
  int device_ = -1;
};

// A DataPtr over a fresh slot whose address range has `nbytes` bytes; its address
// is nullptr for 0 bytes, as the CPU allocator's, but it has a slot all the same.
// Hot path, thread-safe, opens nothing.
c10::DataPtr make_slot(size_t nbytes, int device);
// The slot of a neuron storage; nullptr for a storage of 0 bytes made without one, and for one that
// has no data: a fake tensor's.
Slot* slot_of(const c10::StorageImpl& storage);
// The slot whose range holds `address`, live or not; nullptr when it is not ours.
Slot* slot_at(const void* address);
// The device of a virtual address, -1 when the address is not ours.
int device_of_address(const void* address);
// The slots that hold a buffer now, in order of address.
std::vector<const Slot*> slots_in_use();
// Whether `data` was made by make_slot and not wrapped since.
bool is_slot(const c10::DataPtr& data);

}  // namespace neuron::device
