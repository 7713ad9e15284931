"""Whether a tensor of the device is the CPU's, within what one statement may round.

A statement's inputs are equal on both sides, bit for bit, so its result may differ by the
roundings of one operator. The first test is tight. A result that fails it is compared with the
same statement in float64: the device may be as far from that as the CPU is, a few times over, and
where terms are added, by a rounding of the largest of them per term.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from . import memory
from .programs import Statement

ROUNDINGS = 32  # of an operator that is made of others
ERRORS = 4  # how often the CPU's own error: another order of terms, other roundings


class Mismatch(Exception):
    """`kind` is error, dtype, shape, strides, aliasing, autograd or value; `nans` are the name and
    the places where one of both is NaN, if the values differ nowhere else.
    """

    def __init__(self, kind: str, detail: str, nans: object = None):
        super().__init__(detail)
        self.kind = kind
        self.nans = nans
        self.statement: Statement | None = None


def described(got: torch.Tensor, want: torch.Tensor, graph: bool = True) -> None:
    """Raises a Mismatch where anything but the numbers differs; `graph`: the name of the function
    in autograd's graph, too.
    """
    _equal("dtype", got.dtype, want.dtype)
    _equal("shape", tuple(got.shape), tuple(want.shape))
    if want.numel():
        _equal("strides", _strides(got), _strides(want))
    _equal("autograd", got.requires_grad, want.requires_grad)
    if graph:
        _equal("autograd", memory.node(got), memory.node(want))
    _equal("dtype", (got.is_conj(), got.is_neg()), (want.is_conj(), want.is_neg()))


def same_sharing(got: dict[str, torch.Tensor], want: dict[str, torch.Tensor]) -> None:
    """Raises a Mismatch unless the tensors of both that share memory have the same names, and are
    as far from each other.
    """
    owners: tuple[dict[int, str], dict[int, str]] = ({}, {})
    for name, value in want.items():
        mine = owners[0].setdefault(memory.storage(value), name)
        theirs = owners[1].setdefault(memory.storage(got[name]), name)
        if mine != theirs:
            raise Mismatch("aliasing", f"{name} shares memory with {theirs}, not with {mine}")
        if value.numel() and want[mine].numel():
            distances = (_start(t[name]) - _start(t[mine]) for t in (got, want))
            _equal("aliasing", next(distances), next(distances))


def has_open_gradients(values: Iterable[torch.Tensor]) -> bool:
    """Whether some are complex and not finite: no standard tells the parts of their products."""
    return any(v.is_complex() and not v.isfinite().all() for v in values)


def _start(t: torch.Tensor) -> int:
    """Where it begins in its storage, in bytes. Only distances are told by PyTorch."""
    return t.storage_offset() * t.element_size()


def _strides(t: torch.Tensor) -> list[int]:
    return [stride for stride, size in zip(t.stride(), t.shape, strict=True) if size > 1]


def _equal(kind: str, got: object, want: object) -> None:
    if got != want:
        raise Mismatch(kind, f"{got} instead of {want}")


def close(
    got: torch.Tensor,
    want: torch.Tensor,
    inputs: Sequence[torch.Tensor],
    exact: torch.Tensor | None = None,
    accumulates: bool = False,
) -> bool:
    """All of them on the CPU, without gradients; `exact` is the float64 result if there is one."""
    if not (want.dtype.is_floating_point or want.dtype.is_complex):
        return torch.equal(got, want)
    eps = max(map(_eps, (want, *inputs)))
    smallest = torch.finfo(torch.float32 if eps > 1e-10 else torch.float64).tiny
    wide = torch.complex128 if want.dtype.is_complex else torch.float64
    got, want = got.to(wide), want.to(wide)
    good = within(got, want, ROUNDINGS * eps * want.abs() + smallest)
    if bool(good.all()):
        return True
    if exact is None or exact.shape != want.shape:
        return bool((good | within(got, want, _added(inputs, want, eps) + smallest)).all())
    exact = exact.to(wide)
    allowed = ERRORS * (want - exact).abs() + ROUNDINGS * eps * exact.abs() + smallest
    if accumulates:
        allowed = allowed + _added(inputs, want, eps)
    good |= within(got, exact, allowed)
    good |= want.isfinite() != exact.isfinite()  # the CPU's result overflowed on its way
    return bool(good.all())


def within(got: torch.Tensor, want: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """Per element. Complex numbers that are not finite have no standard to follow."""
    if want.is_complex():
        return ((got - want).abs() <= allowed) | ~want.isfinite()
    return ((got - want).abs() <= allowed) | (got == want) | (got.isnan() & want.isnan())


def _added(inputs: Sequence[torch.Tensor], want: torch.Tensor, eps: float) -> float:
    """A rounding of the largest product of inputs for each term."""
    terms = max((t.numel() for t in inputs), default=1)
    largest = 1.0
    for t in inputs:
        if t.dtype.is_floating_point or t.dtype.is_complex:
            finite = t.detach().abs().double()
            finite = finite[finite.isfinite()]
            largest *= max(float(finite.amax()), 1.0) if finite.numel() else 1.0
    step = min(eps, torch.finfo(torch.float32).eps)
    return (terms * step + ROUNDINGS * eps) * largest


def _eps(t: torch.Tensor) -> float:
    is_rounded = t.dtype.is_floating_point or t.dtype.is_complex
    return torch.finfo(t.dtype).eps if is_rounded else 0.0
