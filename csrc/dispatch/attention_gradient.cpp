// The gradient of fused attention as operators that have gradients themselves, for a second
// backward pass: PyTorch has no derivative of the fused one.
#include <ATen/OpMathType.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_safe_softmax.h>
#include <ATen/ops/_scaled_dot_product_fused_attention_overrideable_backward.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <array>
#include <cmath>
#include <limits>

namespace neuron::dispatch {
namespace {

using at::Tensor;
using Gradients = std::tuple<Tensor, Tensor, Tensor, Tensor>;

// Keys or values for each of `heads` query heads, neighbours of which share them.
Tensor for_heads(const Tensor& x, int64_t heads) {
  return x.size(1) == heads ? x : x.repeat_interleave(heads / x.size(1), 1);
}

// What for_heads does, backwards.
Tensor over_shared(const Tensor& gradient, const Tensor& like) {
  if (gradient.size(1) == like.size(1)) return gradient;
  return gradient.unflatten(1, {like.size(1), -1}).sum(2);
}

// What is added to the scores: -infinity where they do not take part; undefined for nothing.
Tensor additive(const Tensor& bias, bool is_causal, const Tensor& scores) {
  bool keeps = bias.defined() && bias.scalar_type() == at::kBool;
  if (!is_causal && !keeps) return bias.defined() ? bias.to(scores.scalar_type()) : bias;
  auto options = scores.options();
  auto keep = bias;
  if (is_causal) {
    keep = at::ones({scores.size(-2), scores.size(-1)}, options.dtype(at::kBool)).tril();
  }
  constexpr double kOut = -std::numeric_limits<double>::infinity();
  return at::zeros({}, options).masked_fill(keep.logical_not(), kOut);
}

// A call of fused attention, as its gradient is given it.
struct Attention {
  const Tensor &query, &key, &value, &bias, &logsumexp;
  double dropout_p;
  bool is_causal;
  const Tensor &seed, &offset;
  std::optional<double> scale;
};

// The factor of each probability, 0 or 1 / (1 - p). The fused gradient draws it again from the
// saved state: of the values, with a unit matrix for the result's, it is the dropped probabilities.
Tensor dropout_factor(const Attention& of) {
  at::AutoDispatchBelowADInplaceOrView guard;
  int64_t batch = of.query.size(0), heads = of.query.size(1), queries = of.query.size(2);
  auto key = for_heads(of.key, heads);
  auto unit = at::eye(queries, of.query.options()).expand({batch, heads, -1, -1});
  auto none = at::zeros({batch, heads, key.size(2), queries}, of.query.options());
  auto dropped = std::get<2>(at::_scaled_dot_product_fused_attention_overrideable_backward(
      unit,
      of.query,
      key,
      none,
      of.bias,
      {false, false, true, false},
      unit,
      of.logsumexp,
      Tensor(),
      Tensor(),
      queries,
      key.size(2),
      of.dropout_p,
      of.is_causal,
      of.seed,
      of.offset,
      of.scale
  ));
  return dropped.mT().ne(0).div(1 - of.dropout_p);
}

// With P = softmax(scale Q K' + bias), M the dropout's factors and O = (P M) V, from dO.
Gradients composed_backward(const Attention& of, const Tensor& grad, std::array<bool, 4> wanted) {
  int64_t heads = of.query.size(1);
  auto dtype = at::toOpMathType(of.query.scalar_type());
  auto g = grad.to(dtype), q = of.query.to(dtype);
  auto k = for_heads(of.key.to(dtype), heads), v = for_heads(of.value.to(dtype), heads);
  double scale = of.scale.value_or(1 / std::sqrt(static_cast<double>(of.query.size(-1))));

  auto scores = at::matmul(q, k.mT()) * scale;
  auto added = additive(of.bias, of.is_causal, scores);
  auto p = at::_safe_softmax(added.defined() ? scores + added : scores, -1);
  auto dp = at::matmul(g, v.mT());
  auto dropped = p;
  if (of.dropout_p > 0) {
    auto factor = dropout_factor(of);
    dropped = p * factor;
    dp = dp * factor;
  }
  auto ds = p * (dp - (dp * p).sum(-1, /*keepdim=*/true));

  Gradients result;
  auto& [dq, dk, dv, dbias] = result;
  if (wanted[0]) dq = at::matmul(ds, k) * scale;
  if (wanted[1]) dk = over_shared(at::matmul(ds.mT(), q) * scale, of.key);
  if (wanted[2]) dv = over_shared(at::matmul(dropped.mT(), g), of.value);
  if (wanted[3] && of.bias.defined()) dbias = ds.sum_to_size(of.bias.sizes());
  for (auto [gradient, input] :
       {std::pair{&dq, &of.query}, {&dk, &of.key}, {&dv, &of.value}, {&dbias, &of.bias}}) {
    if (gradient->defined()) *gradient = gradient->to(input->scalar_type());
  }
  return result;
}

bool needs_gradient(const Tensor& tensor) {
  return tensor.defined() && tensor.requires_grad();
}

Gradients attention_backward(
    const Tensor& grad,
    const Tensor& query,
    const Tensor& key,
    const Tensor& value,
    const Tensor& bias,
    std::array<bool, 4> wanted,
    const Tensor& out,
    const Tensor& logsumexp,
    const Tensor& cum_seq_q,
    const Tensor& cum_seq_k,
    c10::SymInt max_q,
    c10::SymInt max_k,
    double dropout_p,
    bool is_causal,
    const Tensor& seed,
    const Tensor& offset,
    std::optional<double> scale
) {
  if (at::GradMode::is_enabled() &&
      (needs_gradient(grad) || needs_gradient(query) || needs_gradient(key) ||
       needs_gradient(value) || needs_gradient(bias))) {
    Attention of{query, key, value, bias, logsumexp, dropout_p, is_causal, seed, offset, scale};
    return composed_backward(of, grad, wanted);
  }
  at::AutoDispatchBelowADInplaceOrView guard;
  return at::_scaled_dot_product_fused_attention_overrideable_backward_symint(
      grad,
      query,
      key,
      value,
      bias,
      wanted,
      out,
      logsumexp,
      cum_seq_q,
      cum_seq_k,
      std::move(max_q),
      std::move(max_k),
      dropout_p,
      is_causal,
      seed,
      offset,
      scale
  );
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) {
  m.impl("_scaled_dot_product_fused_attention_overrideable_backward", TORCH_FN(attention_backward));
}

}  // namespace neuron::dispatch
