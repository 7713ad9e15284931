// Pinned host memory: pages that the device can read and write directly.
#pragma once

#include <ATen/core/CachingHostAllocator.h>

namespace neuron::device {

// Aligned so that a PJRT runtime may use it without a copy. Where a platform's
// device is the host itself there is nothing to lock in place, so its pages stay
// ordinary ones. Opens nothing.
at::HostAllocator& host_allocator();

// Whether `data` lies in memory of host_allocator().
bool is_pinned(const void* data);

}  // namespace neuron::device
