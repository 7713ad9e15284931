// Autocast: which ops run in the lower precision, in float32, or in the widest
// type of their inputs. The lists are PyTorch's own, those of CUDA.
#include <ATen/autocast_mode.h>
#include <torch/library.h>

namespace neuron::device {

namespace {

at::Tensor binary_cross_entropy_banned(
    const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, int64_t
) {
  TORCH_CHECK(
      false,
      "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast: a "
      "sigmoid in lower precision can round to 0 or 1. Use binary_cross_entropy_with_logits or "
      "torch.nn.BCEWithLogitsLoss on the sigmoid's input instead."
  );
}

#define NEURON_LOWER_PRECISION(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define NEURON_FP32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define NEURON_FP32_SET_OPT_DTYPE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define NEURON_PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFallthrough());
}

// The macros spell types as ATen's own sources do.
using namespace at;  // NOLINT(google-build-using-namespace)

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  AT_FORALL_LOWER_PRECISION_FP(NEURON_LOWER_PRECISION)
  AT_FORALL_FP32(NEURON_FP32)
  AT_FORALL_FP32_SET_OPT_DTYPE(NEURON_FP32_SET_OPT_DTYPE)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
  AT_FORALL_PROMOTE(NEURON_PROMOTE)
  m.impl("binary_cross_entropy", &binary_cross_entropy_banned);
}

// PyTorch's default for a private backend is float16. The setting is per thread:
// this covers the thread that loads the extension, normally the main one.
[[maybe_unused]] const bool default_dtype_set = [] {
  at::autocast::set_autocast_dtype(at::kPrivateUse1, at::kBFloat16);
  return true;
}();

}  // namespace

}  // namespace neuron::device
