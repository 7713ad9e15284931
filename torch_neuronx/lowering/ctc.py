"""Connectionist temporal classification: the loss of all alignments of a target, and its gradient.

The forward and backward variables run over time in a loop inside the program. Lengths are part of
the program, as they decide the shape of `log_alpha`. Shape suffixes: T time, N batch, C classes, S
states (a target with a blank before, between and after its labels). Notation of Graves et al.,
ICML 2006.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import take_flat
from torch_neuronx.lowering.planes import gather_planes
from torch_neuronx.lowering.registry import infers, lowers
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten


@dataclass(frozen=True)
class _States:
    """Every state's label, its log probability in time, and whether state s may follow s - 2."""

    label_NS: Value
    log_probs_TNS: Value
    skips_NS: Value
    last_N: np.ndarray  # the last state of each target
    steps_N: np.ndarray  # the number of time steps of each input


@infers(aten._ctc_loss.default)
def _infer_ctc_loss(
    log_probs, targets, input_lengths, target_lengths, blank=0, zero_infinity=False
):
    steps, batch, _ = log_probs.shape
    if len(input_lengths) != batch or max(input_lengths, default=0) > steps:
        raise ValueError("the CPU kernel has the text of this refusal")
    states = 2 * max(target_lengths, default=0) + 1
    return log_probs.new_empty(batch), log_probs.new_empty(batch, steps, states)


@infers(aten._ctc_loss_backward.default)
def _infer_ctc_loss_backward(grad, log_probs, *args):
    return torch.empty_like(log_probs, memory_format=torch.contiguous_format)


@lowers(aten._ctc_loss.default)
def ctc_loss(out, log_probs, targets, input_lengths, target_lengths, blank=0, zero_infinity=False):
    """-> (negative log likelihood [N], log_alpha [N, T, S])."""
    states = _states(log_probs, targets, input_lengths, target_lengths, blank)
    batch, width = states.label_NS.shape
    place = hlo.iota((batch, width), 1, torch.int32)
    first_NS = place <= hlo.constant(np.minimum(states.last_N, 1).astype(np.int32)[:, None])

    def start(t):
        return first_NS & (t == 0)

    alpha_TNS = _recursion(states, start, states.skips_NS, backwards=False)
    alpha_NTS = hlo.transpose(alpha_TNS, [1, 0, 2])
    end = np.maximum(states.steps_N - 1, 0)
    ends = [_picked(alpha_NTS, end, np.maximum(states.last_N - k, 0)) for k in (0, 1)]
    labelled = hlo.constant(states.last_N > 0)
    ends[1] = hlo.select(labelled, ends[1], -math.inf)
    loss = -_log_sum(ends)
    no_steps = np.where(states.last_N > 0, math.inf, 0.0)
    loss = hlo.select(
        hlo.constant(states.steps_N > 0), loss, hlo.convert(hlo.constant(no_steps), loss.dtype)
    )
    return loss, alpha_NTS


@lowers(aten._ctc_loss_backward.default)
def ctc_loss_backward(
    out, grad, log_probs, targets, input_lengths, target_lengths, loss, log_alpha, blank,
    zero_infinity=False,
):  # fmt: skip
    states = _states(log_probs, targets, input_lengths, target_lengths, blank)
    steps, batch, width = states.log_probs_TNS.shape
    gamma_TNS = (
        hlo.transpose(log_alpha, [1, 0, 2])
        + _beta(states)
        + hlo.reshape(loss, [batch, 1])
        - states.log_probs_TNS
    )
    labels = hlo.reshape(states.label_NS, [batch, width, 1])
    shape = (batch, width, log_probs.shape[2])
    one_hot = hlo.convert(hlo.iota(shape, 2, torch.int32) == labels, log_probs.dtype)
    expected_NTC = hlo.dot_general(
        hlo.exp(gamma_TNS), one_hot, batch=([1], [0]), contract=([2], [1])
    )
    slope = hlo.exp(log_probs) - hlo.transpose(expected_NTC, [1, 0, 2])
    keep = hlo.iota((steps, batch, 1), 0, torch.int64) < hlo.constant(states.steps_N[:, None])
    if zero_infinity:
        keep = keep & hlo.reshape(loss != math.inf, [batch, 1])
    slope = slope * hlo.reshape(grad, [batch, 1])
    return hlo.select(hlo.broadcast_to(keep, slope.shape), slope, 0.0)


def _states(log_probs, targets, input_lengths, target_lengths, blank: int) -> _States:
    lengths = np.asarray(target_lengths, np.int64)
    longest = int(lengths.max(initial=0))
    label = _labels(targets, lengths, longest, blank)
    width = label.shape[1]
    before = _shifted(label, 2, -1)
    odd = hlo.constant(np.arange(width) % 2 == 1)
    skips = (label != before) & odd & (before != -1)
    return _States(
        label,
        gather_planes(log_probs, label),
        skips,
        2 * lengths,
        np.asarray(input_lengths, np.int64),
    )


def _labels(targets, lengths: np.ndarray, longest: int, blank: int):
    """int32 [N, S]: blanks at even states, the target's labels at odd ones; past its end blanks."""
    batch = len(lengths)
    blanks = hlo.full((batch, longest + 1, 1), blank, torch.int32)
    if not longest:
        return hlo.reshape(blanks, [batch, 1])
    place = np.arange(longest)
    stride = targets.shape[1] if targets.ndim == 2 else 0
    starts = np.arange(batch) * stride if stride else np.cumsum(lengths) - lengths
    inside = place < lengths[:, None]
    index = np.where(inside, starts[:, None] + place, 0)
    flat = hlo.convert(hlo.reshape(targets, [targets.numel]), torch.int32)
    labels = take_flat(flat, hlo.constant(index.astype(np.int32)))
    labels = hlo.select(hlo.constant(inside), labels, blank)
    labels = hlo.pad(hlo.reshape(labels, [batch, longest, 1]), blank, [0, 0, 0], [0, 1, 0])
    both = hlo.reshape(hlo.concat([blanks, labels], 2), [batch, 2 * longest + 2])
    return hlo.slice_dim(both, 1, 0, 2 * longest + 1)


def _beta(states: _States):
    """log beta [T, N, S]: the log probability of all ways to finish from a state."""
    batch, width = states.label_NS.shape
    place = hlo.iota((batch, width), 1, torch.int64)
    last = hlo.constant(states.last_N[:, None])
    final_NS = (place == last) | (place == last - 1)
    ends = hlo.constant(states.steps_N[:, None] - 1)
    # State s may be left for s + 2 exactly when s + 2 may be entered from s.
    skips = _shifted(states.skips_NS, -2, False)
    return _recursion(states, lambda t: final_NS & (ends == t), skips, backwards=True)


def _recursion(states: _States, start, skips, backwards: bool):
    """Runs log p_t(s) = log_probs + log sum over s and its one or two neighbours, through time."""
    steps, batch, width = states.log_probs_TNS.shape
    dtype = states.log_probs_TNS.dtype
    nothing = hlo.full((batch, width), -math.inf, dtype)
    toward = -1 if backwards else 1

    def body(count, p, all_TNS):
        t = steps - 1 - count if backwards else count
        emitted = hlo.dynamic_slice(states.log_probs_TNS, [t, 0, 0], [1, batch, width])
        emitted = hlo.reshape(emitted, [batch, width])
        far = hlo.select(skips, _shifted(p, 2 * toward, -math.inf), -math.inf)
        moved = _log_sum([p, _shifted(p, toward, -math.inf), far])
        p = emitted + hlo.select(start(t), 0.0, moved)
        new = hlo.reshape(p, [1, batch, width])
        return count + 1, p, hlo.dynamic_update_slice(all_TNS, new, [t, 0, 0])

    empty = hlo.full((steps, batch, width), -math.inf, dtype)
    count = hlo.full((), 0, torch.int64)
    return hlo.while_([count, nothing, empty], lambda c, p, a: c < steps, body)[2]


def _shifted(x, by: int, fill):
    """x[N, S] moved `by` states up, `fill` where nothing came from."""
    if abs(by) >= x.shape[1]:
        return hlo.full(x.shape, fill, x.dtype)
    return hlo.pad(x, fill, [0, by], [0, -by])


def _log_sum(terms):
    """log of the sum of exp, -inf when all terms are."""
    top = terms[0]
    for term in terms[1:]:
        top = hlo.max(top, term)
    top = hlo.select(top == -math.inf, 0.0, top)
    total = hlo.exp(terms[0] - top)
    for term in terms[1:]:
        total = total + hlo.exp(term - top)
    return hlo.log(total) + top


def _picked(x_NTS, step: np.ndarray, state: np.ndarray):
    """x at one (step, state) per batch entry."""
    batch, steps, width = x_NTS.shape
    index = (np.arange(batch) * steps + step) * width + state
    return take_flat(hlo.reshape(x_NTS, [x_NTS.numel]), hlo.constant(index.astype(np.int32)))
