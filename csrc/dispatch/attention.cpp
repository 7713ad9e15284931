// What PyTorch's attention modules ask of a device before they choose a kernel.
#include <ATen/Context.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>
#include <torch/csrc/autograd/forward_grad.h>
#include <torch/library.h>

namespace at::native {
namespace {

// PyTorch's switches name kernels of other devices (torch.nn.attention.sdpa_kernel). The one fused
// operator stands for each of the fused ones, so that only math alone asks for the composite.
bool fused_is_enabled(const Context& context) {
  return context.userEnabledOverrideableSDP() || context.userEnabledFlashSDP() ||
         context.userEnabledMemEfficientSDP() || context.userEnabledCuDNNSDP();
}

// PyTorch has forward derivatives of the composite only. A wrapper of torch.func hides whether the
// tensor below has a tangent: while there is a forward derivative, it may.
bool may_have_tangent(const Tensor& tensor) {
  constexpr DispatchKeySet wrappers(
      {DispatchKey::FuncTorchGradWrapper, DispatchKey::FuncTorchBatched}
  );
  bool is_hidden = tensor.key_set().has_any(wrappers) &&
                   torch::autograd::ForwardADLevel::try_get_by_idx(0) != nullptr;
  return is_hidden || tensor._fw_grad(/*level=*/0).defined();
}

// One fused operator, lowered as a whole, for everything that it covers.
int64_t fused_sdp_choice(
    const Tensor& query,
    const Tensor& key,
    const Tensor& value,
    const std::optional<Tensor>& mask,
    double /*dropout*/,
    bool /*is_causal*/,
    std::optional<double> /*scale*/,
    bool enable_gqa
) {
  bool fits = !query.is_nested() && query.dim() == 4 && key.dim() == 4 && value.dim() == 4 &&
              (enable_gqa || query.size(1) == key.size(1)) && isFloatingType(query.scalar_type()) &&
              query.scalar_type() == key.scalar_type() &&
              query.scalar_type() == value.scalar_type();
  bool mask_needs_gradient =
      mask && mask->defined() && mask->requires_grad() && GradMode::is_enabled();
  bool has_tangents = may_have_tangent(query) || may_have_tangent(key) || may_have_tangent(value);
  const auto& context = globalContext();
  if (fits && !mask_needs_gradient && !has_tangents && fused_is_enabled(context)) {
    return static_cast<int64_t>(sdp::SDPBackend::overrideable);
  }
  auto choice = context.userEnabledMathSDP() ? sdp::SDPBackend::math : sdp::SDPBackend::error;
  return static_cast<int64_t>(choice);
}

// nn.TransformerEncoder asks whether to drop padding by nesting its input. The
// device has no nested kernels: "no" keeps the padded form, which computes the same.
bool mask_is_left_aligned(const Tensor& /*input*/, const Tensor& /*mask*/) {
  return false;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_fused_sdp_choice", TORCH_FN(fused_sdp_choice));
  m.impl("_nested_tensor_from_mask_left_aligned", TORCH_FN(mask_is_left_aligned));
}

REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &fused_sdp_choice)

}  // namespace at::native
