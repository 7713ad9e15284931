#include "csrc/dispatch/layout.h"

#include <algorithm>
#include <numeric>

namespace neuron::dispatch {

std::optional<pjrt::Dims> physical_dims(const at::TensorBase& tensor) {
  if (tensor.is_contiguous()) {
    return pjrt::Dims(tensor.sizes().begin(), tensor.sizes().end());
  }
  if (!tensor.unsafeGetTensorImpl()->is_non_overlapping_and_dense_or_false()) {
    return std::nullopt;
  }
  c10::SmallVector<int64_t, 6> order(tensor.dim());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    // A dimension of size 1 has no place of its own: it stays among its equals.
    return tensor.stride(a) > tensor.stride(b);
  });
  pjrt::Dims dims;
  for (int64_t d : order) {
    dims.push_back(tensor.size(d));
  }
  return dims;
}

bool covers_storage(const at::TensorBase& tensor) {
  return tensor.storage_offset() == 0 && tensor.storage().nbytes() == tensor.nbytes() &&
         tensor.unsafeGetTensorImpl()->is_non_overlapping_and_dense_or_false();
}

}  // namespace neuron::dispatch
