// A device buffer: immutable contents, a physical shape and an element type.
//
// "Physical" means row-major in memory order: a channels_last tensor of sizes
// (N, C, H, W) lives in a buffer of dims (N, H, W, C). Strided tensors see a
// buffer through view recipes (torch_neuronx/lowering/recipe.py); nothing in
// this folder knows about tensors.
#pragma once

#include "csrc/pjrt/event.h"

#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/SmallVector.h>
#include <c10/util/intrusive_ptr.h>

#include <cstdint>

struct PJRT_Buffer;

namespace neuron::pjrt {

class Client;

using Dims = c10::SmallVector<int64_t, 6>;

class Buffer final : public c10::intrusive_ptr_target {
 public:
  // Takes ownership of `handle`. Counts its bytes with the client's memory
  // accounting (csrc/pjrt/memory.h) until it is destroyed or donated. A null handle makes a buffer
  // without contents or memory: it reads as zeros and cannot be launched with.
  Buffer(
      Client& client, PJRT_Buffer* handle, c10::ScalarType dtype, c10::IntArrayRef dims, int device
  );
  ~Buffer() override;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  PJRT_Buffer* handle() const {
    return handle_;
  }
  bool has_contents() const {
    return handle_ != nullptr;
  }
  c10::ScalarType dtype() const {
    return dtype_;
  }
  c10::IntArrayRef dims() const {
    return dims_;
  }
  int device() const {
    return device_;
  }
  size_t nbytes() const {
    return nbytes_;
  }

  // Copies the contents to `dst` (nbytes() bytes), row-major; blocks until done.
  // Errors of the program that produced the buffer surface here.
  void to_host(void* dst) const;
  // The same for the first `nbytes` only.
  void front_to_host(void* dst, size_t nbytes) const;
  // The same through the runtime, as where the device's memory is not the host's.
  void copy_to_host(void* dst) const;
  // Where the device's memory is the host's: the address of the row-major
  // contents, valid while this object lives undonated; blocks until they are
  // defined. Null elsewhere.
  const void* host_data() const;
  // The event that fires when the contents are defined.
  Event ready() const;
  // Copies to another device of the same client (asynchronous). The own device gives this buffer.
  c10::intrusive_ptr<Buffer> copy_to_device(int device) const;

  // Tells that a launch has consumed the contents, so that its outputs are not
  // counted on top of them. Called once, after the launch.
  void donated();

 private:
  bool is_row_major() const;

  Client& client_;
  PJRT_Buffer* handle_;
  size_t nbytes_;
  Dims dims_;
  int device_;
  c10::ScalarType dtype_;
  bool counted_ = true;
};

using BufferPtr = c10::intrusive_ptr<Buffer>;

// Bytes of a dense buffer.
size_t buffer_nbytes(c10::ScalarType dtype, c10::IntArrayRef dims);

}  // namespace neuron::pjrt
