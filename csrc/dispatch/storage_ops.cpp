// Operators that make or rearrange storages and views: metadata only, no program.
#include "csrc/device/device.h"
#include "csrc/dispatch/copy.h"
#include "csrc/dispatch/resize.h"
#include "csrc/dispatch/uninitialized.h"

#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/is_set_to_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

namespace neuron::dispatch {
namespace {

using c10::IntArrayRef;
using c10::ScalarType;

c10::Allocator* allocator() {
  return c10::GetAllocator(c10::DeviceType::PrivateUse1);
}

void check_options(std::optional<at::Layout> layout, std::optional<bool> pin_memory) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      layout.value_or(at::kStrided) == at::kStrided,
      "empty: the neuron device has strided tensors only, got layout ",
      *layout
  );
  TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
}

at::Tensor empty_memory_format(
    IntArrayRef size,
    std::optional<ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device,
    std::optional<bool> pin_memory,
    std::optional<at::MemoryFormat> memory_format
) {
  check_options(layout, pin_memory);
  const c10::OptionalDeviceGuard guard(device);
  return uninitialized(at::detail::empty_generic(
      size, allocator(), ::neuron::device::kTensorKeys, c10::dtype_or_default(dtype), memory_format
  ));
}

at::Tensor empty_strided(
    IntArrayRef size,
    IntArrayRef stride,
    std::optional<ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device,
    std::optional<bool> pin_memory
) {
  check_options(layout, pin_memory);
  const c10::OptionalDeviceGuard guard(device);
  return uninitialized(at::detail::empty_strided_generic(
      size, stride, allocator(), ::neuron::device::kTensorKeys, c10::dtype_or_default(dtype)
  ));
}

void grow_storage(const at::TensorBase& tensor, size_t bytes) {
  auto* storage = tensor.storage().unsafeGetStorageImpl();
  if (bytes > storage->nbytes()) {
    resize_storage(storage, bytes);
  }
}

// Grows the storage so that the tensor's current view fits.
void fit_storage(const at::TensorBase& tensor) {
  size_t bytes =
      tensor.numel() == 0
          ? 0
          : at::detail::computeStorageNbytes(
                tensor.sizes(), tensor.strides(), tensor.element_size(), tensor.storage_offset()
            );
  grow_storage(tensor, bytes);
}

const at::Tensor& resize_(
    const at::Tensor& self, IntArrayRef size, std::optional<at::MemoryFormat> memory_format
) {
  at::detail::check_size_nonnegative(size);
  auto* impl = self.unsafeGetTensorImpl();
  const size_t old_nbytes = self.storage().nbytes();
  if (self.sizes() != size) {
    // The storage first: out of memory leaves the tensor as it was.
    if (c10::multiply_integers(size) != 0) {
      grow_storage(
          self,
          at::detail::computeStorageNbytesContiguous(
              size, self.element_size(), self.storage_offset()
          )
      );
    }
    impl->set_sizes_contiguous(size);
  }
  if (memory_format) {
    TORCH_CHECK(
        *memory_format != at::MemoryFormat::Preserve, "Unsupported memory format", *memory_format
    );
    impl->empty_tensor_restride(*memory_format);
    fit_storage(self);
  }
  fill_growth(self, old_nbytes);
  return self;
}

at::Tensor& set_storage(
    at::Tensor& self, at::Storage source, int64_t offset, IntArrayRef size, IntArrayRef stride
) {
  at::native::checkSetStorage(self, source, offset, size, stride);
  auto* impl = self.unsafeGetTensorImpl();
  impl->set_storage_offset(offset);
  if (stride.data() != nullptr) {
    impl->set_sizes_and_strides(size, stride);
  } else {
    impl->set_sizes_contiguous(size);
  }
  fit_storage(self);
  return self;
}

at::Tensor& set_whole_storage(at::Tensor& self, at::Storage source) {
  int64_t count = static_cast<int64_t>(source.nbytes() / self.element_size());
  return set_storage(self, std::move(source), 0, {count}, {});
}

at::Tensor& set_tensor(at::Tensor& self, const at::Tensor& source) {
  if (self.is_same(source)) {
    return self;
  }
  return set_storage(
      self, source.storage(), source.storage_offset(), source.sizes(), source.strides()
  );
}

at::Tensor& set_empty(at::Tensor& self) {
  at::Storage storage(
      at::Storage::use_byte_size_t(), 0, allocator()->allocate(0), allocator(), /*resizable=*/true
  );
  return set_storage(self, std::move(storage), 0, {0}, {});
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& dst, bool non_blocking) {
  auto target = dst;
  return target.copy_(self, non_blocking);
}

at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& dst) {
  auto target = dst;
  target.resize_(self.sizes());
  return target.copy_(self);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", TORCH_FN(empty_memory_format));
  m.impl("empty_strided", TORCH_FN(empty_strided));
  m.impl("resize_", TORCH_FN(resize_));
  m.impl("set_.source_Storage", TORCH_FN(set_whole_storage));
  m.impl("set_.source_Storage_storage_offset", TORCH_FN(set_storage));
  m.impl("set_.source_Tensor", TORCH_FN(set_tensor));
  m.impl("set_", TORCH_FN(set_empty));
  m.impl("is_set_to", TORCH_FN(at::native::is_set_to));
  m.impl("view", TORCH_FN(at::native::view));
  m.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
  m.impl("as_strided_", TORCH_FN(at::native::as_strided__symint));
  m.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
  m.impl("unfold", TORCH_FN(at::native::unfold));
  m.impl("view_as_real", TORCH_FN(at::native::view_as_real));
  m.impl("view_as_complex", TORCH_FN(at::native::view_as_complex));
  m.impl("copy_", TORCH_FN(copy_));
  m.impl("_copy_from", TORCH_FN(copy_from));
  m.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
  m.impl("_local_scalar_dense", TORCH_FN(local_scalar_dense));
  m.impl("equal", TORCH_FN(equal));
}

}  // namespace neuron::dispatch
