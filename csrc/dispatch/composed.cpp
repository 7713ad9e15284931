// Kernels of operators that PyTorch has for the CPU alone and that are a few calls of others.
#include <ATen/ops/cummax.h>
#include <ATen/ops/cummin.h>
#include <ATen/ops/var_mean.h>
#include <torch/library.h>

namespace neuron::dispatch {
namespace {

using at::Tensor;

void cummax_helper(const Tensor& self, Tensor& values, Tensor& indices, int64_t dim) {
  at::cummax_out(values, indices, self, dim);
}

void cummin_helper(const Tensor& self, Tensor& values, Tensor& indices, int64_t dim) {
  at::cummin_out(values, indices, self, dim);
}

void move_towards(const std::optional<Tensor>& running, const Tensor& value, double momentum) {
  if (running && running->defined()) {
    running->mul_(1 - momentum).add_(value, momentum);
  }
}

// The mean and the biased variance of each channel. Updates what is running, although the schema
// does not say so.
std::tuple<Tensor, Tensor> batch_norm_update_stats(
    const Tensor& input,
    const std::optional<Tensor>& running_mean,
    const std::optional<Tensor>& running_var,
    double momentum
) {
  std::vector<int64_t> dims{0};
  for (int64_t d = 2; d < input.dim(); ++d) {
    dims.push_back(d);
  }
  const auto wide = at::isReducedFloatingType(input.scalar_type()) ? input.to(at::kFloat) : input;
  const auto [variance, mean] = at::var_mean(wide, dims, /*unbiased=*/false);
  const auto count = static_cast<double>(input.numel() / input.size(1));
  move_towards(running_mean, mean, momentum);
  move_towards(running_var, variance.mul(count / (count - 1)), momentum);
  return {mean, variance};
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_cummax_helper", TORCH_FN(cummax_helper));
  m.impl("_cummin_helper", TORCH_FN(cummin_helper));
  m.impl("batch_norm_update_stats", TORCH_FN(batch_norm_update_stats));
}

}  // namespace neuron::dispatch
