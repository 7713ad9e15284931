#include "csrc/dispatch/resize.h"

#include "csrc/device/runtime.h"
#include "csrc/device/slot.h"
#include "csrc/pjrt/client.h"

#include <c10/util/Exception.h>

namespace neuron::dispatch {

void resize_storage(c10::StorageImpl* storage, size_t nbytes) {
  TORCH_CHECK(storage->resizable(), "Trying to resize storage that is not resizable");
  auto* slot = device::slot_of(*storage);
  int device = storage->device().index();
  if (nbytes > storage->nbytes()) {
    device::Runtime::get().client().memory(device).reserve_check(nbytes - storage->nbytes());
  }
  auto data = device::make_slot(nbytes, device);
  if (slot != nullptr && nbytes != 0) {
    static_cast<device::Slot*>(data.get_context())->set_buffer(slot->buffer());
  }
  storage->set_data_ptr_noswap(std::move(data));
  storage->set_nbytes(nbytes);
}

}  // namespace neuron::dispatch
