#include "csrc/pjrt/buffer.h"

#include "csrc/pjrt/api.h"
#include "csrc/pjrt/client.h"
#include "csrc/pjrt/error.h"

#include <c10/util/Exception.h>
#include <c10/util/accumulate.h>

#include <cstring>
#include <vector>

namespace neuron::pjrt {
namespace {

constexpr const char* kReadBuffer = "read a buffer";

}  // namespace

size_t buffer_nbytes(c10::ScalarType dtype, c10::IntArrayRef dims) {
  return static_cast<size_t>(c10::multiply_integers(dims)) * c10::elementSize(dtype);
}

Buffer::Buffer(
    Client& client, PJRT_Buffer* handle, c10::ScalarType dtype, c10::IntArrayRef dims, int device
)
    : client_(client),
      handle_(handle),
      nbytes_(buffer_nbytes(dtype, dims)),
      dims_(dims.begin(), dims.end()),
      device_(device),
      dtype_(dtype) {
  if (has_contents()) {
    client_.memory(device_).allocated(nbytes_);
  }
}

Buffer::~Buffer() {
  if (!has_contents()) {
    return;
  }
  NEURON_PJRT_ARGS(PJRT_Buffer_Destroy_Args, args);
  args.buffer = handle_;
  discard_error(client_.api(), client_.api()->PJRT_Buffer_Destroy(&args));
  if (counted_) {
    client_.memory(device_).freed(nbytes_);
  }
}

void Buffer::donated() {
  counted_ = false;
  client_.memory(device_).freed(nbytes_);
}

Event Buffer::ready() const {
  NEURON_PJRT_ARGS(PJRT_Buffer_ReadyEvent_Args, args);
  args.buffer = handle_;
  client_.check(client_.api()->PJRT_Buffer_ReadyEvent(&args), kReadBuffer);
  return Event(client_.api(), args.event);
}

bool Buffer::is_row_major() const {
  NEURON_PJRT_ARGS(PJRT_Buffer_GetMemoryLayout_Args, args);
  args.buffer = handle_;
  client_.check(client_.api()->PJRT_Buffer_GetMemoryLayout(&args), kReadBuffer);
  const auto& tiled = args.layout.tiled;
  if (args.layout.type != PJRT_Buffer_MemoryLayout_Type_Tiled || tiled.num_tiles != 0) {
    return false;
  }
  const size_t rank = tiled.minor_to_major_size;
  for (size_t i = 0; i < rank; ++i) {
    if (tiled.minor_to_major[i] != static_cast<int64_t>(rank - 1 - i)) {
      return false;
    }
  }
  return true;
}

const void* Buffer::host_data() const {
  if (!client_.host_memory() || !has_contents()) {
    return nullptr;
  }
  TORCH_CHECK(
      is_row_major(), "a buffer is not row-major; programs must not set the layout of their results"
  );
  ready().await(kReadBuffer);
  NEURON_PJRT_ARGS(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args, args);
  args.buffer = handle_;
  client_.check(client_.api()->PJRT_Buffer_OpaqueDeviceMemoryDataPointer(&args), kReadBuffer);
  return args.device_memory_ptr;
}

// The host layout is asked for, because the default is the layout on the device. Plugins before
// API version 0.115 were seen to ignore it, hence the check in host_data().
void Buffer::copy_to_host(void* dst) const {
  Dims minor_to_major;
  for (auto i = static_cast<int64_t>(dims_.size()); i-- > 0;) {
    minor_to_major.push_back(i);
  }
  NEURON_PJRT_ARGS(PJRT_Buffer_MemoryLayout, layout);
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
  layout.tiled.minor_to_major = minor_to_major.data();
  layout.tiled.minor_to_major_size = minor_to_major.size();
  NEURON_PJRT_ARGS(PJRT_Buffer_ToHostBuffer_Args, args);
  args.src = handle_;
  args.host_layout = &layout;
  args.dst = dst;
  args.dst_size = nbytes_;
  client_.check(client_.api()->PJRT_Buffer_ToHostBuffer(&args), kReadBuffer);
  Event(client_.api(), args.event).await(kReadBuffer);
}

void Buffer::to_host(void* dst) const {
  front_to_host(dst, nbytes_);
}

// A direct copy beside the runtime's, which on a CPU costs a change of thread. The runtime's is
// always of the whole buffer.
void Buffer::front_to_host(void* dst, size_t nbytes) const {
  if (!has_contents()) {
    std::memset(dst, 0, nbytes);
  } else if (nbytes == 0) {
    ready().await(kReadBuffer);
  } else if (const void* data = host_data()) {
    std::memcpy(dst, data, nbytes);
  } else if (nbytes == nbytes_) {
    copy_to_host(dst);
  } else {
    std::vector<uint8_t> whole(nbytes_);
    copy_to_host(whole.data());
    std::memcpy(dst, whole.data(), nbytes);
  }
}

BufferPtr Buffer::copy_to_device(int device) const {
  if (device == device_) {
    return BufferPtr::reclaim_copy(const_cast<Buffer*>(this));
  }
  if (!has_contents()) {
    return c10::make_intrusive<Buffer>(client_, nullptr, dtype_, dims_, device);
  }
  client_.memory(device).reserve_check(nbytes_);
  NEURON_PJRT_ARGS(PJRT_Buffer_CopyToDevice_Args, args);
  args.buffer = handle_;
  args.dst_device = client_.device(device);
  client_.check(
      client_.api()->PJRT_Buffer_CopyToDevice(&args), "copy a buffer from another device", device
  );
  return c10::make_intrusive<Buffer>(client_, args.dst_buffer, dtype_, dims_, device);
}

}  // namespace neuron::pjrt
