// Memory accounting of one device: what torch.neuron.memory_stats reports and
// where the limit that raises torch.OutOfMemoryError is enforced.
//
// It counts the bytes of live buffers as tensors see them, not the padding,
// temporaries and code of the runtime below.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace neuron::pjrt {

// Memory of this machine that the process may use: its RAM or, where smaller,
// the limit of the cgroup it runs in.
size_t host_memory_limit();
// Makes the C library keep freed blocks for the next program, as a device's caching
// allocator does: else every result of a few megabytes is faulted in page by page.
void keep_freed_memory();
// Gives what is kept back to the system.
void release_freed_memory();

// How many mappings of memory the process has and may have; each loaded program takes a few.
struct Mappings {
  size_t used, limit;
};
Mappings memory_mappings();

// Thread-safe without a lock. A counter is exact; a peak may miss an
// overlap of two threads within nanoseconds.
class MemoryAccounting {
 public:
  // The limit where neither the device nor set_limit tells one.
  static constexpr size_t kUnlimited = std::numeric_limits<int64_t>::max();

  // Called once, before other threads see the object.
  void init(int device, size_t limit);

  // Throws c10::OutOfMemoryError naming bytes asked, used and free (its text
  // contains " out of memory.") when `bytes` more would pass the limit.
  void reserve_check(size_t bytes) {
    if (bytes > limit() || used() > limit() - bytes) [[unlikely]] {
      throw_out_of_memory(bytes);
    }
  }

  void allocated(size_t bytes) {
    bytes_.increase(static_cast<int64_t>(bytes));
    count_.increase(1);
  }
  void freed(size_t bytes) {
    bytes_.decrease(static_cast<int64_t>(bytes));
    count_.decrease(1);
  }

  c10::CachingDeviceAllocator::DeviceStats stats() const;
  void reset_peak();
  void reset_accumulated();

  size_t used() const {
    return static_cast<size_t>(bytes_.current());
  }
  // Bytes; the device's memory unless set_limit was called.
  size_t limit() const {
    return limit_.load(std::memory_order_relaxed);
  }
  void set_limit(size_t bytes) {
    limit_.store(bytes, std::memory_order_relaxed);
  }
  // Counts an out-of-memory error that the device itself reported.
  void count_oom() {
    ooms_.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  // c10::CachingAllocator::Stat as two totals and a peak: one atomic addition per event.
  class Counter {
   public:
    void increase(int64_t amount) {
      const int64_t total = added_.fetch_add(amount, std::memory_order_relaxed) + amount;
      const int64_t now = total - removed_.load(std::memory_order_relaxed);
      int64_t peak = peak_.load(std::memory_order_relaxed);
      while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
      }
    }
    void decrease(int64_t amount) {
      removed_.fetch_add(amount, std::memory_order_release);
    }
    // In this order the difference is never negative: what was removed had been added.
    int64_t current() const {
      const int64_t removed = removed_.load(std::memory_order_acquire);
      return added_.load(std::memory_order_relaxed) - removed;
    }
    c10::CachingAllocator::Stat stat() const;
    void reset_peak();
    void reset_accumulated();

   private:
    std::atomic<int64_t> added_{0};
    std::atomic<int64_t> removed_{0};
    std::atomic<int64_t> peak_{0};
    std::atomic<int64_t> added_base_{0};  // the totals at the last reset_accumulated
    std::atomic<int64_t> removed_base_{0};
  };

  [[noreturn]] void throw_out_of_memory(size_t bytes);

  Counter bytes_;
  Counter count_;
  std::atomic<size_t> limit_{kUnlimited};
  std::atomic<int64_t> ooms_{0};
  int device_ = 0;
};

}  // namespace neuron::pjrt
