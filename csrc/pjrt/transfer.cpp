// The part of Client that has to do with its devices' memory.
#include "csrc/pjrt/api.h"
#include "csrc/pjrt/client.h"
#include "csrc/pjrt/error.h"

#include <cstring>
#include <memory>
#include <new>

namespace neuron::pjrt {
namespace {

// Room for one number of any dtype or a few, at the alignment that runtimes on
// a CPU ask of memory that they did not allocate.
constexpr size_t kSmallBytes = 64;
constexpr std::align_val_t kAlignment{64};

void free_small(void* memory) {
  ::operator delete(memory, kAlignment);
}

constexpr const char* kCopyIn = "copy host memory to the device";

}  // namespace

bool Client::probe_host_memory() {
  const uint8_t zero = 0;
  NEURON_PJRT_ARGS(PJRT_Buffer_IsOnCpu_Args, query);
  query.buffer = copy_in(&zero, PJRT_Buffer_Type_U8, {}, 0);
  PJRT_Error* error = api_->PJRT_Buffer_IsOnCpu(&query);
  NEURON_PJRT_ARGS(PJRT_Buffer_Destroy_Args, destroy);
  destroy.buffer = query.buffer;
  discard_error(api_, api_->PJRT_Buffer_Destroy(&destroy));
  const bool answered = error == nullptr;
  discard_error(api_, error);
  return answered && query.is_on_cpu;
}

std::map<std::string, int64_t> Client::device_memory_stats(int device) const {
  NEURON_PJRT_ARGS(PJRT_Device_MemoryStats_Args, args);
  args.device = this->device(device);
  PJRT_Error* error = api_->PJRT_Device_MemoryStats(&args);
  if (error != nullptr) {
    discard_error(api_, error);
    return {};
  }
  std::map<std::string, int64_t> stats{{"bytes_in_use", args.bytes_in_use}};
  const auto add = [&stats](const char* name, bool is_set, int64_t value) {
    if (is_set) {
      stats.emplace(name, value);
    }
  };
  add("peak_bytes_in_use", args.peak_bytes_in_use_is_set, args.peak_bytes_in_use);
  add("num_allocs", args.num_allocs_is_set, args.num_allocs);
  add("largest_alloc_size", args.largest_alloc_size_is_set, args.largest_alloc_size);
  add("bytes_limit", args.bytes_limit_is_set, args.bytes_limit);
  add("bytes_reserved", args.bytes_reserved_is_set, args.bytes_reserved);
  add("peak_bytes_reserved", args.peak_bytes_reserved_is_set, args.peak_bytes_reserved);
  add("bytes_reservable_limit", args.bytes_reservable_limit_is_set, args.bytes_reservable_limit);
  add("largest_free_block_bytes",
      args.largest_free_block_bytes_is_set,
      args.largest_free_block_bytes);
  add("pool_bytes", args.pool_bytes_is_set, args.pool_bytes);
  add("peak_pool_bytes", args.peak_pool_bytes_is_set, args.peak_pool_bytes);
  return stats;
}

size_t Client::memory_limit(int device) const {
  const auto stats = device_memory_stats(device);
  const auto limit = stats.find("bytes_limit");
  if (limit != stats.end() && limit->second > 0) {
    return static_cast<size_t>(limit->second);
  }
  return host_memory_ ? host_memory_limit() : MemoryAccounting::kUnlimited;
}

void Client::init_memory() {
  for (int device = 0; device < device_count(); ++device) {
    memory(device).init(device, memory_limit(device));
  }
}

PJRT_Buffer* Client::copy_in(const void* data, int type, c10::IntArrayRef dims, int device) {
  NEURON_PJRT_ARGS(PJRT_Client_BufferFromHostBuffer_Args, args);
  args.client = handle_;
  args.data = data;
  args.type = static_cast<PJRT_Buffer_Type>(type);
  args.dims = dims.data();
  args.num_dims = dims.size();
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  args.device = this->device(device);
  check(api_->PJRT_Client_BufferFromHostBuffer(&args), kCopyIn, device);
  const Event ignored(api_, args.done_with_host_buffer);
  return args.buffer;
}

// The quickest way in where the host's memory is the device's: memory of our own, lent until
// the runtime calls back. A donated buffer made so is copied first, hence only for small ones.
PJRT_Buffer* Client::place_small(
    const void* data, int type, c10::IntArrayRef dims, size_t nbytes, int device
) {
  std::unique_ptr<void, void (*)(void*)> block(
      ::operator new(kSmallBytes, kAlignment), &free_small
  );
  std::memcpy(block.get(), data, nbytes);
  NEURON_PJRT_ARGS(PJRT_Client_CreateViewOfDeviceBuffer_Args, args);
  args.client = handle_;
  args.device_buffer_ptr = block.get();
  args.dims = dims.data();
  args.num_dims = dims.size();
  args.element_type = static_cast<PJRT_Buffer_Type>(type);
  args.device = this->device(device);
  args.on_delete_callback = [](void* memory, void*) { free_small(memory); };
  check(api_->PJRT_Client_CreateViewOfDeviceBuffer(&args), kCopyIn, device);
  (void)block.release();
  return args.buffer;
}

BufferPtr Client::from_host(
    const void* data, c10::ScalarType dtype, c10::IntArrayRef dims, int device
) {
  const int type = to_pjrt_type(dtype);
  const size_t nbytes = buffer_nbytes(dtype, dims);
  memory(device).reserve_check(nbytes);
  const bool small = nbytes > 0 && nbytes <= kSmallBytes && host_memory_ &&
                     NEURON_PJRT_HAS(api_, PJRT_Client_CreateViewOfDeviceBuffer);
  PJRT_Buffer* handle =
      small ? place_small(data, type, dims, nbytes, device) : copy_in(data, type, dims, device);
  return c10::make_intrusive<Buffer>(*this, handle, dtype, dims, device);
}

}  // namespace neuron::pjrt
