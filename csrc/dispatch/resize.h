// Storages that change size.
#pragma once

#include <c10/core/StorageImpl.h>

namespace neuron::dispatch {

// Gives the storage `nbytes` bytes at a new address. The buffer stays: views read
// what it lacks as zeros, so growing and shrinking cost no device work.
void resize_storage(c10::StorageImpl* storage, size_t nbytes);

}  // namespace neuron::dispatch
