// Operators whose result's size is a number among the data that no shape bounds, such as the
// largest value of bincount: it is read first, 8 or 16 bytes, and a program computes with room for
// the next power of two. Those whose size a shape bounds are lowered whole (dispatch/counted.h);
// here are their out= forms, which give the out tensor the size that was found.
#include "csrc/dispatch/counted.h"

#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_ctc_loss.h>
#include <ATen/ops/_ctc_loss_backward.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/masked_select.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/util/llvmMathExtras.h>
#include <torch/library.h>

namespace neuron::dispatch {
namespace {

using at::Tensor;

// Two numbers of the device in one read.
std::pair<int64_t, int64_t> read_pair(const Tensor& a, const Tensor& b) {
  const auto both = at::stack({a.to(at::kLong), b.to(at::kLong)}).cpu();
  const auto* values = both.const_data_ptr<int64_t>();
  return {values[0], values[1]};
}

int64_t room_for(int64_t size) {
  return static_cast<int64_t>(c10::llvm::PowerOf2Ceil(static_cast<uint64_t>(size)));
}

void check_has_kernel(bool has, const char* kernel, const Tensor& tensor) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      has, '"', kernel, "\" not implemented for '", tensor.scalar_type(), "'"
  );
}

int64_t bins_of(const Tensor& self, int64_t minlength) {
  constexpr auto kLimit = std::numeric_limits<int64_t>::max();
  TORCH_CHECK(self.dim() == 1, "bincount only supports 1-d non-negative integral inputs.");
  const auto [low, high] = at::aminmax(self);
  const auto [smallest, largest] = read_pair(low, high);
  TORCH_CHECK(smallest >= 0, "bincount only supports 1-d non-negative integral inputs.");
  TORCH_CHECK(
      largest < kLimit,
      "maximum value of input overflowed, it should be < ",
      kLimit,
      " but got ",
      largest
  );
  return std::max(largest + 1, minlength);
}

Tensor bincount(const Tensor& self, const std::optional<Tensor>& weights, int64_t minlength) {
  check_has_kernel(at::isIntegralType(self.scalar_type(), false), "bincount_cpu", self);
  TORCH_CHECK(minlength >= 0, "minlength should be >= 0");
  const auto counts = self.options().dtype(at::kLong);
  if (self.dim() == 1 && self.numel() == 0) {
    return at::zeros({minlength}, counts);
  }
  const int64_t bins = bins_of(self, minlength);
  const bool weighted = weights && weights->defined();
  TORCH_CHECK(
      !weighted || (weights->dim() == 1 && weights->size(0) == self.size(0)),
      "weights should be 1-d and have the same length as input"
  );
  Tensor terms;
  if (weighted) {
    terms = weights->scalar_type() == at::kFloat ? *weights : weights->to(at::kDouble);
  } else {
    terms = at::ones({self.numel()}, counts);
  }
  auto room = at::zeros({room_for(bins)}, terms.options());
  return front_of(room.scatter_add_(0, self.to(at::kLong), terms), {bins});
}

Tensor repeat_interleave(const Tensor& repeats, std::optional<c10::SymInt> output_size) {
  TORCH_CHECK(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
  const bool integral = repeats.scalar_type() == at::kLong || repeats.scalar_type() == at::kInt;
  check_has_kernel(integral, "repeat_interleave_cpu", repeats);
  if (repeats.numel() == 0) {
    return at::empty_like(repeats);
  }
  const auto [smallest, total] = read_pair(repeats.min(), repeats.sum());
  TORCH_CHECK(smallest >= 0, "repeats can not be negative");
  TORCH_CHECK(!output_size || *output_size == total, "allocated size does not match required size");
  // A place of the result is in the run that is as many as the runs that end before it.
  const auto ends = repeats.cumsum(0);
  auto ended = at::zeros({room_for(total + 1)}, ends.options());
  ended.scatter_add_(0, ends, at::ones_like(ends));
  return front_of(ended.cumsum(0).to(repeats.scalar_type()), {total});
}

// Gives `out` the size of `result` and its values.
Tensor& write_out(Tensor& out, const Tensor& result) {
  if (at::native::resize_output(out, result.sizes())) {
    out.unsafeGetTensorImpl()->set_sizes_and_strides(result.sizes(), result.strides());
  }
  return out.copy_(result);
}

Tensor& nonzero_out(const Tensor& self, Tensor& out) {
  TORCH_CHECK(
      out.scalar_type() == at::kLong,
      "nonzero: Expected out tensor to have scalar type Long but got scalar type",
      out.scalar_type()
  );
  at::assert_no_internal_overlap(out);
  at::assert_no_overlap(out, self);
  return write_out(out, at::nonzero(self));
}

Tensor& masked_select_out(const Tensor& self, const Tensor& mask, Tensor& out) {
  TORCH_CHECK(mask.scalar_type() == at::kBool, "masked_select: expected BoolTensor for mask");
  TORCH_CHECK(
      self.scalar_type() == out.scalar_type(),
      "masked_select(): self and result must have the same scalar type"
  );
  at::assert_no_internal_overlap(out);
  at::assert_no_overlap(out, self);
  at::assert_no_overlap(out, mask);
  return write_out(out, at::masked_select(self, mask));
}

std::vector<int64_t> read_lengths(const Tensor& lengths, const char* name) {
  TORCH_CHECK(at::isIntegralType(lengths.scalar_type(), false), name, " must be integral");
  const auto host = lengths.to(at::kCPU, at::kLong).contiguous();
  const auto* values = host.const_data_ptr<int64_t>();
  return {values, values + host.numel()};
}

std::tuple<Tensor, Tensor> ctc_loss(
    const Tensor& log_probs,
    const Tensor& targets,
    const Tensor& input_lengths,
    const Tensor& target_lengths,
    int64_t blank,
    bool zero_infinity
) {
  return at::_ctc_loss(
      log_probs,
      targets,
      read_lengths(input_lengths, "input_lengths"),
      read_lengths(target_lengths, "target_lengths"),
      blank,
      zero_infinity
  );
}

Tensor ctc_loss_backward(
    const Tensor& grad,
    const Tensor& log_probs,
    const Tensor& targets,
    const Tensor& input_lengths,
    const Tensor& target_lengths,
    const Tensor& neg_log_likelihood,
    const Tensor& log_alpha,
    int64_t blank,
    bool zero_infinity
) {
  return at::_ctc_loss_backward(
      grad,
      log_probs,
      targets,
      read_lengths(input_lengths, "input_lengths"),
      read_lengths(target_lengths, "target_lengths"),
      neg_log_likelihood,
      log_alpha,
      blank,
      zero_infinity
  );
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("bincount", TORCH_FN(bincount));
  m.impl("repeat_interleave.Tensor", TORCH_FN(repeat_interleave));
  m.impl("nonzero.out", TORCH_FN(nonzero_out));
  m.impl("masked_select.out", TORCH_FN(masked_select_out));
  m.impl("_ctc_loss.Tensor", TORCH_FN(ctc_loss));
  m.impl("_ctc_loss_backward.Tensor", TORCH_FN(ctc_loss_backward));
}

}  // namespace neuron::dispatch
