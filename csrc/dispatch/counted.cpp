#include "csrc/dispatch/counted.h"

#include "csrc/device/slot.h"
#include "csrc/device/stream.h"
#include "csrc/dispatch/copy.h"
#include "csrc/dispatch/launch.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/narrow.h>
#include <c10/util/accumulate.h>
#include <c10/util/llvmMathExtras.h>

#include <algorithm>

namespace neuron::dispatch {
namespace {

// Room that is not worth a program to give it back.
constexpr size_t kKeptBytes = size_t{64} << 10;

pjrt::BufferPtr buffer_of(const at::Tensor& tensor) {
  return device::slot_of(*tensor.storage().unsafeGetStorageImpl())->buffer();
}

// The first elements of a flat buffer, in a buffer of at most twice their size. Its sizes are
// powers of two, so that a few programs serve every count.
pjrt::BufferPtr trimmed(pjrt::BufferPtr room, size_t nbytes) {
  const auto itemsize = static_cast<int64_t>(c10::elementSize(room->dtype()));
  const auto size =
      static_cast<int64_t>(c10::llvm::PowerOf2Ceil(std::max(nbytes, kKeptBytes) / itemsize));
  const auto total = static_cast<int64_t>(room->nbytes()) / itemsize;
  if (2 * size > total) {
    return room;
  }
  const auto dtype = room->dtype();
  const auto bytes = room->nbytes();
  const auto whole = wrap_buffer(std::move(room), dtype, {total}, {1}, bytes);
  auto part = at::empty({size}, whole.options());
  copy_(part, at::narrow(whole, 0, 0, size), false);
  return buffer_of(part);
}

at::Tensor front(
    pjrt::BufferPtr room, c10::ScalarType dtype, c10::IntArrayRef sizes, c10::IntArrayRef strides
) {
  const size_t nbytes = pjrt::buffer_nbytes(dtype, sizes);
  return wrap_buffer(trimmed(std::move(room), nbytes), dtype, sizes, strides, nbytes);
}

// Dense strides for `sizes`, the dimensions in `order` from the outermost on. A dimension of size 0
// has the strides that PyTorch gives it: in contiguous tensors it counts as 1.
pjrt::Dims dense_strides(c10::IntArrayRef sizes, c10::IntArrayRef order) {
  const int64_t least = std::is_sorted(order.begin(), order.end()) ? 1 : 0;
  pjrt::Dims strides(sizes.size(), 1);
  int64_t stride = 1;
  for (auto i = static_cast<int64_t>(order.size()); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= std::max<int64_t>(sizes[order[i]], least);
  }
  return strides;
}

}  // namespace

std::vector<int64_t> read_counts(const Program& program, c10::ArrayRef<pjrt::BufferPtr> buffers) {
  for (size_t i = 0; i < program.results.size(); ++i) {
    if (program.results[i].kind == Result::Counts) {
      std::vector<int64_t> counts(c10::multiply_integers(buffers[i]->dims()));
      device::read(*buffers[i], counts.data());
      return counts;
    }
  }
  return {};
}

at::Tensor counted_tensor(pjrt::BufferPtr buffer, const Result& result, c10::IntArrayRef counts) {
  const at::AutoDispatchBelowADInplaceOrView guard;
  auto sizes = result.sizes;
  sizes[result.counted->dim] = counts[result.counted->count];
  return front(std::move(buffer), result.dtype, sizes, dense_strides(sizes, result.counted->order));
}

at::Tensor front_of(const at::Tensor& room, c10::IntArrayRef sizes) {
  pjrt::Dims order;
  for (size_t d = 0; d < sizes.size(); ++d) {
    order.push_back(static_cast<int64_t>(d));
  }
  return front(buffer_of(room), room.scalar_type(), sizes, dense_strides(sizes, order));
}

}  // namespace neuron::dispatch
