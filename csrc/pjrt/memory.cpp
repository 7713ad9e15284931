#include "csrc/pjrt/memory.h"

#include <c10/util/Exception.h>

#include <iomanip>
#include <sstream>

namespace neuron::pjrt {
namespace {

using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;

std::string format_bytes(size_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto amount = static_cast<double>(bytes);
  size_t unit = 0;
  for (; amount >= 1024; ++unit) {
    amount /= 1024;
  }
  std::ostringstream text;
  text << std::fixed << std::setprecision(unit == 0 ? 0 : 2) << amount << ' ' << kUnits[unit];
  return text.str();
}

StatArray aggregate(const Stat& stat) {
  StatArray stats;
  stats[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)] = stat;
  return stats;
}

}  // namespace

Stat MemoryAccounting::Counter::stat() const {
  const int64_t removed = removed_.load(std::memory_order_acquire);
  const int64_t added = added_.load(std::memory_order_relaxed);
  Stat stat;
  stat.current = added - removed;
  stat.peak = peak_.load(std::memory_order_relaxed);
  stat.allocated = added - added_base_.load(std::memory_order_relaxed);
  stat.freed = removed - removed_base_.load(std::memory_order_relaxed);
  return stat;
}

void MemoryAccounting::Counter::reset_peak() {
  peak_.store(current(), std::memory_order_relaxed);
}

void MemoryAccounting::Counter::reset_accumulated() {
  removed_base_.store(removed_.load(std::memory_order_acquire), std::memory_order_relaxed);
  added_base_.store(added_.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void MemoryAccounting::init(int device, size_t limit) {
  device_ = device;
  set_limit(limit);
}

// Buffers are not cached or split, so a segment, a block and an allocation are
// the same thing, and reserved equals allocated.
c10::CachingDeviceAllocator::DeviceStats MemoryAccounting::stats() const {
  const StatArray bytes = aggregate(bytes_.stat());
  const StatArray count = aggregate(count_.stat());
  c10::CachingDeviceAllocator::DeviceStats stats;
  stats.allocation = stats.segment = stats.active = count;
  stats.allocated_bytes = stats.reserved_bytes = bytes;
  stats.active_bytes = stats.requested_bytes = bytes;
  const auto& total = count[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
  stats.num_device_alloc = total.allocated;
  stats.num_device_free = total.freed;
  stats.num_ooms = ooms_.load(std::memory_order_relaxed);
  return stats;
}

void MemoryAccounting::reset_peak() {
  bytes_.reset_peak();
  count_.reset_peak();
}

void MemoryAccounting::reset_accumulated() {
  bytes_.reset_accumulated();
  count_.reset_accumulated();
  ooms_.store(0, std::memory_order_relaxed);
}

void MemoryAccounting::throw_out_of_memory(size_t bytes) {
  count_oom();
  const size_t in_use = used();
  const size_t free = limit() > in_use ? limit() - in_use : 0;
  TORCH_CHECK_WITH(
      OutOfMemoryError,
      false,
      "neuron out of memory. Tried to allocate ",
      format_bytes(bytes),
      " (",
      bytes,
      " bytes) on neuron:",
      device_,
      ", of whose ",
      format_bytes(limit()),
      " tensors use ",
      format_bytes(in_use),
      " (",
      in_use,
      " bytes) and ",
      format_bytes(free),
      " are free."
  );
}

}  // namespace neuron::pjrt
