#include "csrc/dispatch/copy.h"

#include "csrc/device/runtime.h"
#include "csrc/device/slot.h"
#include "csrc/device/stream.h"
#include "csrc/dispatch/kernel.h"
#include "csrc/dispatch/layout.h"
#include "csrc/pjrt/client.h"

#include <ATen/ExpandUtils.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/eq.h>

namespace neuron::dispatch {
namespace {

// Raises, as PyTorch does, where there is no data: Python may ask a fake tensor for its number.
device::Slot* slot_of(const at::Tensor& tensor) {
  auto* slot = device::slot_of(*tensor.storage().unsafeGetStorageImpl());
  TORCH_CHECK(
      slot != nullptr || tensor.storage().nbytes() == 0,
      "The tensor has a non-zero number of elements, but its data is not allocated yet.\nIf you're "
      "using torch.compile/export/fx, it is likely that a kernel was called while they trace."
  );
  return slot;
}

void call_boxed(const char* name, const char* overload, torch::jit::Stack& stack) {
  boxed_kernel(c10::Dispatcher::singleton().findSchemaOrThrow(name, overload), &stack);
}

// In the words that PyTorch has for element-wise operators.
void check_broadcasts(const at::Tensor& self, const at::Tensor& src) {
  auto shape = at::infer_size(self.sizes(), src.sizes());
  TORCH_CHECK(
      self.sizes() == shape,
      "output with shape ",
      self.sizes(),
      " doesn't match the broadcast shape ",
      c10::IntArrayRef(shape)
  );
}

// Device to device by a program: any views, dtypes and broadcasting.
void copy_by_program(at::Tensor& self, const at::Tensor& src) {
  torch::jit::Stack stack{self, src, false};
  call_boxed("aten::copy_", "", stack);
}

// A dense tensor that is written whole takes over the buffer of an equally laid
// out source: buffers are immutable, so a copy costs nothing until one is written.
bool share_buffer(const at::Tensor& self, const at::Tensor& src) {
  if (self.scalar_type() != src.scalar_type() || self.sizes() != src.sizes() ||
      self.strides() != src.strides() || self.is_conj() != src.is_conj() ||
      self.is_neg() != src.is_neg() || !covers_storage(self) || !covers_storage(src)) {
    return false;
  }
  slot_of(self)->set_buffer(slot_of(src)->buffer());
  return true;
}

// Host tensor of the layout in which `like` is stored.
at::Tensor host_like(const at::Tensor& like) {
  return at::empty_strided(like.sizes(), like.strides(), like.options().device(at::kCPU));
}

void upload_whole(at::Tensor& self, const at::Tensor& src) {
  auto& client = device::Runtime::get().client();
  at::Tensor host = src;
  bool as_is = src.scalar_type() == self.scalar_type() && src.sizes() == self.sizes() &&
               src.strides() == self.strides() && src.is_conj() == self.is_conj() &&
               src.is_neg() == self.is_neg();
  if (!as_is) {
    host = host_like(self);
    host._set_conj(self.is_conj());
    host._set_neg(self.is_neg());
    host.copy_(src);
  }
  int device = self.device().index();
  auto dims = physical_dims(self);
  slot_of(self)->set_buffer(
      client.from_host(host.const_data_ptr(), self.scalar_type(), *dims, device)
  );
}

void upload(at::Tensor& self, const at::Tensor& src) {
  if (covers_storage(self)) {
    return upload_whole(self, src);
  }
  auto staged = at::empty(src.sizes(), self.options());
  upload_whole(staged, src);
  copy_by_program(self, staged);
}

bool is_expanded(const at::Tensor& tensor) {
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.stride(d) == 0 && tensor.size(d) > 1) {
      return true;
    }
  }
  return false;
}

at::Tensor without_expansion(at::Tensor tensor) {
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.stride(d) == 0 && tensor.size(d) > 1) {
      tensor = tensor.narrow(d, 0, 1);
    }
  }
  return tensor;
}

// A tensor whose buffer holds its elements in memory order, from its start on.
at::Tensor materialized(const at::Tensor& src) {
  auto buffer = slot_of(src)->buffer();
  if (covers_storage(src) && (!buffer || buffer->nbytes() >= src.storage().nbytes())) {
    return src;
  }
  auto result = at::empty(src.sizes(), src.options());
  result._set_conj(src.is_conj());
  result._set_neg(src.is_neg());
  copy_by_program(result, src);
  return result;
}

void read_to(const at::Tensor& src, void* data) {
  auto buffer = slot_of(src)->buffer();
  if (buffer) {
    device::read(*buffer, data, src.nbytes());
  } else {
    std::memset(data, 0, src.nbytes());
  }
}

void download(at::Tensor& self, const at::Tensor& src) {
  if (is_expanded(src)) {
    auto part = without_expansion(src);
    auto host = at::empty(part.sizes(), part.options().device(at::kCPU));
    download(host, part);
    self.copy_(host);
    return;
  }
  auto dense = materialized(src);
  bool as_is = self.scalar_type() == dense.scalar_type() && self.sizes() == dense.sizes() &&
               self.strides() == dense.strides() && self.is_conj() == dense.is_conj() &&
               self.is_neg() == dense.is_neg();
  if (as_is) {
    return read_to(dense, self.mutable_data_ptr());
  }
  auto host = host_like(dense);
  read_to(dense, host.mutable_data_ptr());
  host._set_conj(dense.is_conj());
  host._set_neg(dense.is_neg());
  self.copy_(host);
}

void copy_across(at::Tensor& self, const at::Tensor& src) {
  auto dense = materialized(src);
  auto moved =
      at::empty_strided(dense.sizes(), dense.strides(), dense.options().device(self.device()));
  moved._set_conj(dense.is_conj());
  moved._set_neg(dense.is_neg());
  if (auto buffer = slot_of(dense)->buffer()) {
    slot_of(moved)->set_buffer(buffer->copy_to_device(self.device().index()));
  }
  if (!share_buffer(self, moved)) {
    copy_by_program(self, moved);
  }
}

}  // namespace

at::Tensor& copy_(at::Tensor& self, const at::Tensor& src, bool /*non_blocking*/) {
  TORCH_CHECK(self.defined(), "self is undefined");
  TORCH_CHECK(src.defined(), "src is undefined");
  if (self.is_same(src)) {
    return self;
  }
  bool on_device = self.is_privateuseone();
  if (on_device && src.is_privateuseone() && self.device() == src.device()) {
    if (!share_buffer(self, src)) {
      copy_by_program(self, src);
    }
    return self;
  }
  TORCH_CHECK(
      (on_device || self.is_cpu()) && (src.is_privateuseone() || src.is_cpu()),
      "copy_ between ",
      src.device(),
      " and ",
      self.device(),
      " is not possible; copy through the CPU"
  );
  check_broadcasts(self, src);
  auto expanded = src.expand_as(self);
  if (self.numel() == 0) {
    return self;
  }
  if (on_device && src.is_cpu()) {
    // The host makes the dtype; broadcasting is left to the device when it saves bytes.
    upload(self, covers_storage(self) ? expanded : src);
  } else if (on_device) {
    copy_across(self, expanded);
  } else {
    download(self, expanded);
  }
  return self;
}

at::Scalar local_scalar_dense(const at::Tensor& self) {
  auto host = at::empty({}, self.options().device(at::kCPU));
  download(host, self.dim() == 0 ? self : self.reshape({}));
  return at::_local_scalar_dense(host);
}

bool equal(const at::Tensor& self, const at::Tensor& other) {
  TORCH_CHECK(
      self.device() == other.device(),
      "Cannot compare two tensors on different devices. Got: ",
      self.device(),
      " and ",
      other.device()
  );
  TORCH_CHECK(
      self.scalar_type() == other.scalar_type(),
      "Expected all tensors to have the same dtype; but got ",
      self.scalar_type(),
      " and ",
      other.scalar_type()
  );
  if (self.sizes() != other.sizes()) {
    return false;
  }
  return self.numel() == 0 || at::eq(self, other).all().item<bool>();
}

}  // namespace neuron::dispatch
