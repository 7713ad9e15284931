"""The fused LSTM and GRU cells that recurrent layers call on accelerators, with gradients.

Their outputs and the layout of `workspace` are those of PyTorch's CUDA kernels
(aten/native/cuda/RNN.cu): the LSTM keeps its four activated gates, the GRU its reset, update and
new gates, the old state and the hidden part of the new gate. The layers themselves are PyTorch's
own composites over these cells.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.reduction import total
from torch_neuronx.lowering.registry import lowers

aten = torch.ops.aten


@lowers(aten._thnn_fused_lstm_cell.default)
def lstm_cell(out, input_gates, hidden_gates, cx, input_bias=None, hidden_bias=None):
    """Gates [B, 4H] in the order input, forget, cell, output -> (hy, cy, workspace)."""
    dtype = compute_dtype(cx.dtype)
    gates = _biased(input_gates, input_bias, dtype) + _biased(hidden_gates, hidden_bias, dtype)
    i, f, g, o = _split(gates, 4)
    i, f, g, o = hlo.logistic(i), hlo.logistic(f), hlo.tanh(g), hlo.logistic(o)
    cy = f * hlo.convert(cx, dtype) + i * g
    return _as(out, o * hlo.tanh(cy), cy, hlo.concat([i, f, g, o], 1))


@lowers(aten._thnn_fused_lstm_cell_backward_impl.default)
def lstm_cell_backward(out, grad_hy, grad_cy, cx, cy, workspace, has_bias):
    """-> (gradient of the gates, gradient of cx, gradient of either bias)."""
    dtype = compute_dtype(cx.dtype)
    i, f, g, o = _split(hlo.convert(workspace, dtype), 4)
    cx, squashed = hlo.convert(cx, dtype), hlo.tanh(hlo.convert(cy, dtype))
    dh = hlo.full(cx.shape, 0, dtype) if grad_hy is None else hlo.convert(grad_hy, dtype)
    dc = dh * o * (1.0 - squashed * squashed)
    dc = dc if grad_cy is None else dc + hlo.convert(grad_cy, dtype)
    gates = [
        dc * g * i * (1.0 - i),
        dc * cx * f * (1.0 - f),
        dc * i * (1.0 - g * g),
        dh * squashed * o * (1.0 - o),
    ]
    grad = hlo.concat(gates, 1)
    return _as(out, grad, dc * f, total(grad, [0]))


@lowers(aten._thnn_fused_gru_cell.default)
def gru_cell(out, input_gates, hidden_gates, hx, input_bias=None, hidden_bias=None):
    """Gates [B, 3H] in the order reset, update, new -> (hy, workspace)."""
    dtype = compute_dtype(hx.dtype)
    ir, iz, n = _split(_biased(input_gates, input_bias, dtype), 3)
    hr, hz, hn = _split(_biased(hidden_gates, hidden_bias, dtype), 3)
    reset, update = hlo.logistic(ir + hr), hlo.logistic(iz + hz)
    new = hlo.tanh(n + reset * hn)
    hx = hlo.convert(hx, dtype)
    hy = new + update * (hx - new)
    return _as(out, hy, hlo.concat([reset, update, new, hx, hn], 1))


@lowers(aten._thnn_fused_gru_cell_backward.default)
def gru_cell_backward(out, grad_hy, workspace, has_bias):
    """-> gradients of (input gates, hidden gates, hx, input bias, hidden bias)."""
    dtype = compute_dtype(workspace.dtype)
    reset, update, new, hx, hn = _split(hlo.convert(workspace, dtype), 5)
    grad = hlo.convert(grad_hy, dtype)
    d_update = grad * (hx - new) * (1.0 - update) * update
    d_new = grad * (1.0 - update) * (1.0 - new * new)
    d_reset = d_new * hn * (1.0 - reset) * reset
    from_input = hlo.concat([d_reset, d_update, d_new], 1)
    from_hidden = hlo.concat([d_reset, d_update, d_new * reset], 1)
    biases = (total(from_input, [0]), total(from_hidden, [0])) if has_bias else (None, None)
    return _as(out, from_input, from_hidden, grad * update, *biases)


def _biased(gates, bias, dtype):
    gates = hlo.convert(gates, dtype)
    return gates if bias is None else gates + hlo.convert(bias, dtype)


def _split(x, parts: int):
    """x[B, parts * H] as `parts` values [B, H]."""
    width = x.shape[1] // parts
    return [hlo.slice_dim(x, 1, k * width, (k + 1) * width) for k in range(parts)]


def _as(out, *values):
    return tuple(
        None if meta is None or v is None else hlo.convert(v, meta.dtype)
        for meta, v in zip(out, values, strict=True)
    )
