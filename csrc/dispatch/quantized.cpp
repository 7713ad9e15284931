// PyTorch's quantized tensors (qint8, quint8, qint32) carry a quantizer that only its CPU kernels
// know. They are refused here, in one sentence that names the form which works.
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

namespace neuron::dispatch {
namespace {

void refuse(const c10::OperatorHandle& op, torch::jit::Stack* /*stack*/) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      false,
      op.operator_name(),
      ": quantized tensors live on the CPU; on the neuron device keep their integers and scales in "
      "ordinary tensors, as the operators of torch.ops.quantized_decomposed do"
  );
}

}  // namespace

TORCH_LIBRARY_IMPL(_, QuantizedPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse>());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  for (const char* name :
       {"quantize_per_tensor",
        "quantize_per_tensor.tensor_qparams",
        "quantize_per_tensor.tensors",
        "quantize_per_tensor_dynamic",
        "quantize_per_channel",
        "_make_per_tensor_quantized_tensor",
        "_make_per_channel_quantized_tensor",
        "_empty_affine_quantized",
        "_empty_per_channel_affine_quantized",
        "quantized_lstm.input",
        "quantized_lstm.data",
        "quantized_lstm.input_legacy",
        "quantized_lstm.data_legacy",
        "quantized_gru.input",
        "quantized_gru.data",
        "quantized_gru.input_legacy",
        "quantized_gru.data_legacy"}) {
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&refuse>());
  }
}

}  // namespace neuron::dispatch
