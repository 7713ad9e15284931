"""Compares two results in everything that PyTorch promises, and names what differs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from .tolerances import tolerance


class Difference(Exception):
    """`kind` is one of value, dtype, shape, strides."""

    def __init__(self, kind: str, detail: str):
        super().__init__(detail)
        self.kind = kind


def tensors(values: Any) -> list[torch.Tensor]:
    """Those in a tree; a module's are its parameters and buffers."""
    found: list[torch.Tensor] = []
    for leaf in tree_leaves(values):
        if isinstance(leaf, torch.nn.Module):
            found += (*leaf.parameters(), *leaf.buffers())
        elif isinstance(leaf, torch.Tensor):
            found.append(leaf)
    return found


# How often the CPU's own error a result may have: another order of terms, other roundings.
ERRORS = 4
# What part of the largest number that error may be: beyond it the CPU has computed something else.
MOST = 0.25


def same(
    got: Any,
    want: Any,
    inputs: Any,
    part: Callable[[Any], Any] = lambda result: result,
    exact: Callable[[], Any] | None = None,
) -> None:
    """Raises the gravest Difference of two results: dtype and shape, numbers, strides.

    Of the numbers, those in `part(result)` are compared, within what the sizes and dtypes of
    `inputs` allow. Where they are further apart, the call may be ill-conditioned: `exact()` gives
    the result in another precision, which tells how far roundings go.
    """
    for g, w in _pairs(got, want):
        _equal("dtype", (g.dtype, g.layout), (w.dtype, w.layout))
        _equal("shape", tuple(g.shape), tuple(w.shape))
    try:
        _same_values(part(got), part(want), inputs)
    except Difference:
        if exact is None or not _as_exact(part(got), part(want), _tried(exact, part), inputs):
            raise
    for g, w in _pairs(got, want):
        if w.layout is torch.strided and w.numel():
            _equal("strides", _meaningful_strides(g), _meaningful_strides(w))


def _same_values(got: Any, want: Any, inputs: Any) -> None:
    for g, w in _pairs(got, want, numbers=True):
        _close(g.detach().cpu(), w.detach(), _bound(w, inputs))


def _bound(result: torch.Tensor, inputs: Any) -> float:
    given = tensors(inputs)
    terms = max((t.numel() for t in given), default=1)
    return tolerance([result.dtype, *(t.dtype for t in given)], terms)


def _tried(exact: Callable[[], Any], part: Callable[[Any], Any]) -> Any:
    """None if the call has no float64 form."""
    try:
        return part(exact())
    except Exception:
        return None


def _as_exact(got: Any, want: Any, exact: Any, inputs: Any) -> bool:
    """Whether the errors of `got` are those of `want`, a few times over, or less than the bound."""
    if exact is None:
        return False
    triples = zip(tensors(got), tensors(want), tensors(exact), strict=True)
    return all(_is_as_exact(g.detach().cpu(), w, e, _bound(w, inputs)) for g, w, e in triples)


def _is_as_exact(got: torch.Tensor, want: torch.Tensor, exact: torch.Tensor, bound: float) -> bool:
    if exact.shape != want.shape:
        return False  # an iteration went another way
    if not exact.is_floating_point() and not exact.is_complex():
        return torch.equal(got, want)
    want, exact = want.detach(), exact.detach()
    theirs = (want - exact).abs()
    if (ratio := torch.finfo(want.dtype).eps / torch.finfo(exact.dtype).eps) < 1:
        # The other call is the coarser one, and its roundings are so much larger.
        theirs, exact = ratio * theirs, want
    error = _largest(theirs)
    atol = bound + (ERRORS * error if error <= MOST * _largest(exact) else 0.0)
    return torch.allclose(got.to(exact.dtype), exact, rtol=bound, atol=atol, equal_nan=True)


def _largest(values: torch.Tensor) -> float:
    finite = values[values.isfinite()]
    return float(finite.abs().amax()) if finite.numel() else 0.0


def _close(got: torch.Tensor, want: torch.Tensor, bound: float) -> None:
    exact = not (want.dtype.is_floating_point or want.dtype.is_complex)
    bounds = {"rtol": 0.0, "atol": 0.0} if exact else {"rtol": bound, "atol": bound}
    if want.layout not in (torch.strided, torch.jagged):
        # How often a place occurs in a sparse tensor that is not coalesced, no one promises.
        got, want = got.to_dense(), want.to_dense()
    if want.is_floating_point() and want.element_size() == 1:
        got, want = got.float(), want.float()  # assert_close has no kernels for them
    try:
        torch.testing.assert_close(got, want, equal_nan=True, **bounds)
    except AssertionError as error:
        raise Difference("value", str(error)) from None


def _pairs(got: Any, want: Any, numbers: bool = False) -> Iterator[tuple[torch.Tensor, ...]]:
    """The tensors of both; with `numbers`, compares on the way what is no tensor."""
    gots, wants = tree_leaves(got), tree_leaves(want)
    _equal("shape", len(gots), len(wants))
    for g, w in zip(gots, wants, strict=True):
        if isinstance(w, torch.Tensor):
            if not isinstance(g, torch.Tensor):
                raise Difference("value", f"{g!r} is not a tensor")
            yield g, w
        elif numbers and not _is_device(w):
            _number(g, w)


def _number(got: Any, want: Any) -> None:
    if isinstance(want, float | complex):
        _close(torch.tensor(got), torch.tensor(want), tolerance([torch.float32], 1))
    else:
        _equal("value", got, want)


def _is_device(value: Any) -> bool:
    return isinstance(value, torch.device | torch.Generator)


def _meaningful_strides(tensor: torch.Tensor) -> list[int]:
    return [s for s, n in zip(tensor.stride(), tensor.shape, strict=True) if n > 1]


def _equal(kind: str, got: Any, want: Any) -> None:
    if got != want:
        raise Difference(kind, f"{got} instead of {want}")


def worst(kinds: Iterable[str]) -> str:
    """The gravest of `kinds`, "passed" of none."""
    return min(kinds, key=SEVERITY.index, default="passed")


SEVERITY = (
    *("crash", "timeout", "value", "dtype", "shape", "error", "strides"),
    *("unsupported", "passed", "skipped"),
)
