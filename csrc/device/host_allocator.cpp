#include "csrc/device/host_allocator.h"

#include "csrc/device/device.h"

#include <c10/util/Exception.h>
#include <pthread.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace neuron::device {

namespace {

constexpr size_t kAlignment = 64;  // what XLA asks of buffers that it borrows

void release_pinned(void* data);

class HostAllocator;
HostAllocator& instance();

class HostAllocator final : public at::HostAllocator {
 public:
  // A forked child, a DataLoader worker for one, may free the parent's blocks: it must
  // not find the lock taken by a thread that it does not have.
  HostAllocator() {
    pthread_atfork(
        [] { instance().mutex_.lock(); },
        [] { instance().mutex_.unlock(); },
        [] { instance().mutex_.unlock(); }
    );
  }

  at::DataPtr allocate(size_t nbytes) override {
    if (nbytes == 0) return {nullptr, nullptr, &release_pinned, at::kCPU};
    void* data = nullptr;
    TORCH_CHECK_WITH(
        OutOfMemoryError,
        posix_memalign(&data, kAlignment, nbytes) == 0,
        "pinned host memory: out of memory. Tried to allocate ",
        nbytes,
        " bytes."
    );
    std::lock_guard<std::mutex> lock(mutex_);
    blocks_.emplace(data, nbytes);
    count_allocation(nbytes);
    return {data, data, &release_pinned, at::kCPU};
  }

  at::DeleterFnPtr raw_deleter() const override {
    return &release_pinned;
  }

  void copy_data(void* dest, const void* src, size_t count) const override {
    default_copy_data(dest, src, count);
  }

  // Copies from host memory have finished when they return, so no stream uses it later.
  bool record_event(void* data, void*, c10::Stream) override {
    return contains(data);
  }

  // Freed blocks are not kept: there is nothing to empty.
  void empty_cache() override {}

  at::HostStats get_stats() override {
    std::lock_guard<std::mutex> lock(mutex_);
    return stats_;
  }

  void reset_accumulated_stats() override {
    std::lock_guard<std::mutex> lock(mutex_);
    for (at::Stat* stat : all_stats()) stat->reset_accumulated();
    stats_.num_host_alloc = stats_.num_host_free = 0;
  }

  void reset_peak_stats() override {
    std::lock_guard<std::mutex> lock(mutex_);
    for (at::Stat* stat : all_stats()) stat->reset_peak();
  }

  bool contains(const void* data) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto after = blocks_.upper_bound(data);
    if (after == blocks_.begin()) return false;
    const auto& [begin, nbytes] = *std::prev(after);
    return static_cast<const char*>(data) < static_cast<const char*>(begin) + nbytes;
  }

  void release(void* data) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      const auto block = blocks_.find(data);
      count_free(block->second);
      blocks_.erase(block);
    }
    std::free(data);
  }

 private:
  std::array<at::Stat*, 4> all_stats() {
    return {
        &stats_.active_requests, &stats_.active_bytes, &stats_.allocations, &stats_.allocated_bytes
    };
  }

  void count_allocation(size_t nbytes) {
    stats_.active_requests.increase(1);
    stats_.allocations.increase(1);
    stats_.active_bytes.increase(nbytes);
    stats_.allocated_bytes.increase(nbytes);
    ++stats_.num_host_alloc;
    ++stats_.bucket_allocation[std::bit_width(nbytes - 1)];
  }

  void count_free(size_t nbytes) {
    stats_.active_requests.decrease(1);
    stats_.allocations.decrease(1);
    stats_.active_bytes.decrease(nbytes);
    stats_.allocated_bytes.decrease(nbytes);
    ++stats_.num_host_free;
  }

  std::mutex mutex_;
  std::map<const void*, size_t> blocks_;  // live blocks: address -> bytes
  at::HostStats stats_;
};

HostAllocator& instance() {
  static auto* const allocator = new HostAllocator();
  return *allocator;
}

void release_pinned(void* data) {
  if (data != nullptr) instance().release(data);
}

REGISTER_HOST_ALLOCATOR(kDeviceType, &instance())

}  // namespace

at::HostAllocator& host_allocator() {
  return instance();
}

bool is_pinned(const void* data) {
  return instance().contains(data);
}

}  // namespace neuron::device
