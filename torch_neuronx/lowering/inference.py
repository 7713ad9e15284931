"""Result metadata of neural network ops whose meta kernel is missing or unlike the CPU's.

Not lowering: these functions run on fake CPU tensors and only make empty results. Most ops need no
entry. Called by `eager.fake` through the registry.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.registry import infers

aten = torch.ops.aten


def _is_mixed(x, *parameters) -> bool:
    """Whether a normalisation has float32 parameters or statistics beside a narrower input."""
    return any(p is not None and p.dtype != x.dtype for p in parameters)


def _with_dtype(results, positions, dtype):
    return tuple(r.to(dtype) if i in positions else r for i, r in enumerate(results))


def _saves_wide_statistics(op, parameters: slice):
    """The saved mean and rstd of mixed calls are in the compute dtype."""

    def infer(x, *args):
        results = op(x, *args)
        if not _is_mixed(x, *args[parameters]):
            return results
        return _with_dtype(results, (1, 2), compute_dtype(x.dtype))

    infers(op)(infer)


_saves_wide_statistics(aten.native_layer_norm.default, slice(1, 3))
_saves_wide_statistics(aten.native_group_norm.default, slice(0, 2))
_saves_wide_statistics(aten.native_batch_norm.default, slice(0, 4))
_saves_wide_statistics(aten._native_batch_norm_legit.no_stats, slice(0, 2))
_saves_wide_statistics(aten._native_batch_norm_legit_no_training.default, slice(0, 4))
_saves_wide_statistics(aten._batch_norm_no_update.default, slice(0, 4))


@infers(aten._native_batch_norm_legit_functional.default)
def _batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps):
    """PyTorch's own divides by zero for one value per channel."""
    parameters = (weight, bias, running_mean, running_var)
    y, *_ = aten.native_batch_norm.default(x, *parameters, False, momentum, eps)
    dtype = compute_dtype(x.dtype) if _is_mixed(x, *parameters) else x.dtype
    count = x.shape[1] if training else 0
    saved = [x.new_empty(count, dtype=dtype) for _ in range(2)]
    return y, *saved, torch.empty_like(running_mean), torch.empty_like(running_var)


@infers(aten._batch_norm_with_update_functional.default)
def _batch_norm_with_update(x, weight, bias, running_mean, running_var, momentum, eps):
    y, mean, rstd, *running = _batch_norm(
        x, weight, bias, running_mean, running_var, True, momentum, eps
    )
    return y, mean, rstd, x.new_empty(0, dtype=torch.uint8), *running


@infers(aten.native_group_norm_backward.default)
def _group_norm_backward(grad, x, *args):
    results = aten.native_group_norm_backward.default(grad, x, *args)
    return (None if results[0] is None else results[0].to(x.dtype), *results[1:])


@infers(aten._weight_norm_interface.default)
def _weight_norm(v, g, dim=0):
    w, norm = aten._weight_norm_interface.default(v, g, dim)
    return w, norm.to(compute_dtype(v.dtype))


@infers(aten.max_unpool2d.default)
def _max_unpool2d(x, indices, output_size):
    result = aten.max_unpool2d.default(x, indices, output_size)
    return result.contiguous(memory_format=torch._prims_common.suggest_memory_format(x))


@infers(aten.convolution_overrideable.default, without_cpu_kernel=True)
def _convolution(*args):
    return aten.convolution.default(*args)


@infers(aten.convolution_backward_overrideable.default, without_cpu_kernel=True)
def _convolution_backward(grad, x, weight, *args):
    return aten.convolution_backward.default(grad, x, weight, [grad.shape[1]], *args)


@infers(aten._thnn_fused_lstm_cell.default, without_cpu_kernel=True)
def _lstm_cell(input_gates, hidden_gates, cx, input_bias=None, hidden_bias=None):
    return torch.empty_like(cx), torch.empty_like(cx), input_gates.new_empty(input_gates.shape)


@infers(aten._thnn_fused_lstm_cell_backward_impl.default, without_cpu_kernel=True)
def _lstm_cell_backward(grad_hy, grad_cy, cx, cy, workspace, has_bias):
    bias = workspace.new_empty(workspace.shape[1]) if has_bias else None
    return workspace.new_empty(workspace.shape), torch.empty_like(cx), bias


@infers(aten._thnn_fused_gru_cell.default, without_cpu_kernel=True)
def _gru_cell(input_gates, hidden_gates, hx, input_bias=None, hidden_bias=None):
    return torch.empty_like(hx), hx.new_empty(hx.shape[0], 5 * hx.shape[1])


@infers(aten._thnn_fused_gru_cell_backward.default, without_cpu_kernel=True)
def _gru_cell_backward(grad_hy, workspace, has_bias):
    batch, hidden = grad_hy.shape
    gates = [workspace.new_empty(batch, 3 * hidden) for _ in range(2)]
    biases = [workspace.new_empty(3 * hidden) if has_bias else None for _ in range(2)]
    return (*gates, torch.empty_like(grad_hy), *biases)


def _takes_long_or_byte(op, target_at: int):
    def infer(*args):
        target = args[target_at]
        if target.dtype not in (torch.int64, torch.uint8):
            raise TypeError("the CPU kernel has the text of this refusal")
        return op(*args[:target_at], target.long(), *args[target_at + 1 :])

    infers(op)(infer)


def _row_loss_is_scalar(op):
    """Of one unbatched row, PyTorch's meta kernels make a loss of shape [1]."""

    def infer(x, *args):
        results = op(x, *args)
        if x.ndim > 1:
            return results
        if isinstance(results, torch.Tensor):
            return x.new_empty(())
        return x.new_empty(()), *results[1:]

    infers(op)(infer)


_takes_long_or_byte(aten.nll_loss_forward.default, 1)
_takes_long_or_byte(aten.nll_loss_backward.default, 2)
_row_loss_is_scalar(aten.multi_margin_loss.default)
_row_loss_is_scalar(aten.multilabel_margin_loss_forward.default)


@infers(
    aten._scaled_dot_product_fused_attention_overrideable_backward.default, without_cpu_kernel=True
)
def _attention_backward(grad, query, key, value, attn_bias, mask, *args, **kwargs):
    """The schema takes no None for the sequence lengths that the forward leaves out."""
    inputs = (query, key, value, attn_bias)
    return tuple(
        torch.empty_like(x) if x is not None and wanted else None
        for x, wanted in zip(inputs, mask, strict=True)
    )


def _attention_on_cpu(query, key, value, mask=None, dropout_p=0.0, is_causal=False, *_, scale=None):
    return aten.scaled_dot_product_attention.default(
        query, key, value, mask, dropout_p, is_causal, scale=scale, enable_gqa=True
    )


@infers(
    aten._scaled_dot_product_fused_attention_overrideable.default,
    without_cpu_kernel=True,
    cpu_form=_attention_on_cpu,
)
def _attention(query, key, value, *args, **kwargs):
    if key.shape[2] != value.shape[2]:
        raise RuntimeError(
            "Expected key and value to have the same sequence length, but got "
            f"{key.shape[2]} and {value.shape[2]}"
        )
    op = aten._scaled_dot_product_fused_attention_overrideable.default
    return op(query, key, value, *args, **kwargs)


@infers(aten._fused_rms_norm_backward.default, without_cpu_kernel=True)
def _rms_norm_backward(*args):
    return aten._fused_rms_norm_backward.default(*args)
