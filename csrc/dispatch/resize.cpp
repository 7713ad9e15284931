#include "csrc/dispatch/resize.h"

#include "csrc/device/slot.h"

#include <c10/util/Exception.h>

namespace neuron::dispatch {

void resize_storage(c10::StorageImpl* storage, size_t nbytes) {
  TORCH_CHECK(storage->resizable(), "Trying to resize storage that is not resizable");
  auto* slot = device::slot_of(*storage);
  auto data = device::make_slot(nbytes, storage->device().index());
  if (slot != nullptr && nbytes != 0) {
    static_cast<device::Slot*>(data.get_context())->set_buffer(slot->buffer());
  }
  storage->set_data_ptr_noswap(std::move(data));
  storage->set_nbytes(nbytes);
}

}  // namespace neuron::dispatch
