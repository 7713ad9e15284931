"""torch.func.vmap over the fused operators that PyTorch chooses for accelerators only.

PyTorch has batching rules for the operators of its own devices. These would be called lane by lane,
or not at all. In a rule, lanes join the operator's batch dimension, as in PyTorch's own. Called
when the device is registered.

Shape suffixes as in the lowering: B batch, H heads, Q queries, S keys, D head dim.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten
_ATTENTION = aten._scaled_dot_product_fused_attention_overrideable.default
_ATTENTION_BACKWARD = aten._scaled_dot_product_fused_attention_overrideable_backward.default
_library = torch.library.Library("aten", "IMPL")
Dims = tuple[int | None, ...]
# (info, the lanes' dimension in each positional argument, the arguments) -> results and theirs
Rule = Callable[..., tuple[Any, Any]]


def register() -> None:
    _batches(_ATTENTION, _attention)
    _batches(_ATTENTION_BACKWARD, _attention_backward)
    _batches(aten._thnn_fused_lstm_cell.default, _lstm_cell)
    _batches(aten._thnn_fused_lstm_cell_backward_impl.default, _lstm_cell_backward)
    _batches(aten._thnn_fused_gru_cell.default, _gru_cell)
    _batches(aten._thnn_fused_gru_cell_backward.default, _gru_cell_backward)


def _batches(op: Any, rule: Rule) -> None:
    def kernel(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        from torch._functorch.autograd_function import custom_function_call_vmap_helper
        from torch._functorch.pyfunctorch import retrieve_current_functorch_interpreter

        interpreter: Any = retrieve_current_functorch_interpreter()
        return custom_function_call_vmap_helper(interpreter, rule, op, *args, **kwargs)

    _library.impl(op, kernel, "FuncTorchBatched", with_keyset=True)


def _attention(
    info: Any, dims: Dims, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None = None,
    dropout_p: float = 0.0, *flags: Any, scale: float | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    if dropout_p > 0:
        _refuse_shared_randomness(info.randomness)
    inputs = [_joined(x, d, info) for x, d in zip((query, key, value), dims, strict=False)]
    bias = _joined_bias(bias, dims, info, inputs[0].shape[0])
    out, logsumexp, *rest = _ATTENTION(*inputs, bias, dropout_p, *flags, scale=scale)
    parted = [_parted(x, info) for x in (out, logsumexp)]
    return (*parted, *rest), (0, 0, *(None for _ in rest))


def _attention_backward(
    info: Any, dims: Dims, grad: Tensor, query: Tensor, key: Tensor, value: Tensor,
    bias: Tensor | None, wanted: list[bool], *saved: Any, scale: float | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, *rest = saved
    given = (grad, query, key, value, bias, wanted, *saved)
    if dropout_p > 0 and dims[6] is None:
        # Vmap over cotangents only: each lane has the mask that the one forward pass drew.
        return _lane_by_lane(_ATTENTION_BACKWARD, info, dims, given, scale=scale), _dims_of(wanted)
    inputs = [_joined(x, d, info) for x, d in zip((grad, query, key, value), dims, strict=False)]
    results = [_joined(x, d, info) for x, d in zip((out, logsumexp), dims[6:8], strict=True)]
    bias = _joined_bias(bias, dims[1:], info, inputs[0].shape[0], expands=wanted[3])
    lengths = (cum_seq_q, cum_seq_k, max_q, max_k, dropout_p)
    gradients = _ATTENTION_BACKWARD(*inputs, bias, wanted, *results, *lengths, *rest, scale=scale)
    return tuple(None if g is None else _parted(g, info) for g in gradients), _dims_of(wanted)


def _dims_of(wanted: list[bool]) -> Dims:
    return tuple(0 if w else None for w in wanted)


def _lane_by_lane(op: Any, info: Any, dims: Dims, args: tuple[Any, ...], **kwargs: Any) -> Any:
    def of_lane(lane: int) -> Any:
        own = (
            a.select(d, lane) if isinstance(d, int) else a for a, d in zip(args, dims, strict=True)
        )
        return op(*own, **kwargs)

    results = zip(*map(of_lane, range(info.batch_size)), strict=True)
    return tuple(None if each[0] is None else torch.stack(each) for each in results)


def _refuse_shared_randomness(randomness: str) -> None:
    """PyTorch's own refusals, in its words: one program draws for all lanes."""
    if randomness == "error":
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the "
            "'same' or 'different' randomness flags on vmap or perform the randomness operation "
            "out of vmap"
        )
    if randomness == "same":
        raise RuntimeError(
            "Vmap does not currently support same randomness with a batched tensor input. Please "
            "file an issue with functorch"
        )


def _joined_bias(
    bias: Tensor | None, dims: Dims, info: Any, batch: int, expands: bool = False
) -> Tensor | None:
    """[lanes * B or 1, H or 1, Q, S]; one that all share stays as small as it is."""
    dim = dims[3] if bias is not None and len(dims) > 3 else None
    if bias is None:
        return None
    bias = bias if dim is None else bias.movedim(dim, 0)
    lanes = bias.shape[:1] if dim is not None else (1,)
    own = bias.shape if dim is None else bias.shape[1:]
    bias = bias.reshape(*lanes, *(1,) * (4 - len(own)), *own)
    if dim is None and bias.shape[1] == 1 and not expands:
        return bias[0]
    each = batch // info.batch_size
    return bias.expand(info.batch_size, each, *bias.shape[2:]).flatten(0, 1)


def _lstm_cell(
    info: Any, dims: Dims, input_gates: Tensor, hidden_gates: Tensor, cx: Tensor, *biases: Any
) -> tuple[Any, Any]:
    gates = _biased_gates(info, dims, (input_gates, hidden_gates), biases)
    hy, cy, workspace = aten._thnn_fused_lstm_cell.default(*gates, _joined(cx, dims[2], info))
    return tuple(_parted(x, info) for x in (hy, cy, workspace)), (0, 0, 0)


def _lstm_cell_backward(
    info: Any, dims: Dims, grad_hy: Tensor | None, grad_cy: Tensor | None, cx: Tensor, cy: Tensor,
    workspace: Tensor, has_bias: bool,
) -> tuple[Any, Any]:  # fmt: skip
    given = (grad_hy, grad_cy, cx, cy, workspace)
    inputs = [x if x is None else _joined(x, d, info) for x, d in zip(given, dims, strict=False)]
    gates, grad_cx, _ = aten._thnn_fused_lstm_cell_backward_impl.default(*inputs, has_bias)
    gates = _parted(gates, info)
    bias = gates.sum(1) if has_bias else None
    return (gates, _parted(grad_cx, info), bias), (0, 0, 0 if has_bias else None)


def _gru_cell(
    info: Any, dims: Dims, input_gates: Tensor, hidden_gates: Tensor, hx: Tensor, *biases: Any
) -> tuple[Any, Any]:
    gates = _biased_gates(info, dims, (input_gates, hidden_gates), biases)
    hy, workspace = aten._thnn_fused_gru_cell.default(*gates, _joined(hx, dims[2], info))
    return (_parted(hy, info), _parted(workspace, info)), (0, 0)


def _gru_cell_backward(
    info: Any, dims: Dims, grad_hy: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Any, Any]:
    inputs = [_joined(x, d, info) for x, d in zip((grad_hy, workspace), dims, strict=False)]
    gradients = aten._thnn_fused_gru_cell_backward.default(*inputs, False)
    gates = [_parted(g, info) for g in gradients[:3]]
    biases = [g.sum(1) if has_bias else None for g in gates[:2]]
    return (*gates, *biases), (0, 0, 0, *(0 if has_bias else None for _ in biases))


def _biased_gates(
    info: Any, dims: Dims, gates: tuple[Tensor, ...], biases: tuple[Any, ...]
) -> list[Tensor]:
    """The gates with their biases, which may be each lane's own, so that the cell adds none."""
    joined = [_joined(x, d, info) for x, d in zip(gates, dims, strict=False)]
    for number, (bias, dim) in enumerate(zip(biases, dims[3:], strict=True)):
        if bias is None:
            continue
        own = bias if dim is None else bias.movedim(dim, 0).unsqueeze(1)
        joined[number] = (_parted(joined[number], info) + own).flatten(0, 1)
    return joined


def _joined(x: Tensor, dim: int | None, info: Any) -> Tensor:
    """[B, ...], of which lanes have `dim` besides, as [lanes * B, ...]."""
    lanes = x.expand(info.batch_size, *x.shape) if dim is None else x.movedim(dim, 0)
    return lanes.flatten(0, 1)


def _parted(x: Tensor, info: Any) -> Tensor:
    return x.unflatten(0, (info.batch_size, x.shape[0] // info.batch_size))
