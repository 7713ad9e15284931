"""Runs a program as one compiled function, and compares all of its results with the CPU's.

Nothing is evened out on the way here, so a rounding may decide a comparison, an order or an index.
What it may decide is measured: the CPU runs the program again a few times, with each number that
is not exact moved by a few roundings after every statement, and in the backward pass each gradient.
A result that moves with them may
differ by some times as much, and where an integer or a truth value changes, it is left out.
(Stochastic arithmetic: J. Vignes, "A stochastic arithmetic for reliable scientific computation",
1993.)
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch._subclasses import FakeTensorMode

from . import comparison, eager, memory
from .comparison import Mismatch
from .programs import HEADER, Program, Statement

TRIALS = 4
MOVED = 4  # roundings of each inexact number per statement
ALLOWED = 8  # times the largest change among the trials


def run(program: Program, device: str = "neuron") -> None:
    """Raises a Mismatch, unless PyTorch's own compilation differs in the same respect.

    That is `aot_eager`, which traces like every backend and runs the graphs on the CPU. It has NaNs
    of its own, too: what eager gives no gradient gets one of zeros.
    """
    program = Program(program.seed, tuple(s for s in program.statements if not s.raises))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _compare_with_cpu(program, device, "neuron")
        except Mismatch as mismatch:
            try:
                _compare_with_cpu(program, "cpu", "aot_eager")
            except Mismatch as theirs:
                if theirs.kind == mismatch.kind and (
                    theirs.kind != "value" or theirs.nans == mismatch.nans is not None
                ):
                    return
            raise


def _compare_with_cpu(program: Program, device: str, backend: str) -> None:
    base, inexact, refusal = _on_cpu(program)
    got = _compiled(program, device, backend, refusal)
    trials = [_trial(program, inexact, seed) for seed in range(TRIALS)]
    open_gradients = comparison.has_open_gradients(base.values())
    for name, want in _results(base):
        if open_gradients and name.endswith(".grad"):
            continue
        values = [dict(_results(trial)).get(name) for trial in trials]
        if name not in got:
            raise Mismatch("autograd", f"there is no {name}")
        try:
            _compare(name, got[name], want, values)
        except Mismatch as mismatch:
            if mismatch.kind != "strides" or not _is_inferred(program, name, got[name]):
                raise
    names = [s.results for s in _body(program)]
    comparison.same_sharing(got, {n: base[n] for group in names for n in group})


def _is_inferred(program: Program, name: str, got: torch.Tensor) -> bool:
    """Whether PyTorch infers these strides without data, as for every backend: a few of its meta
    kernels, copysign's among them, differ from those of the CPU.
    """
    side = eager.Side("cpu")
    with FakeTensorMode():
        for statement in program.statements:
            side.execute(statement.source)
    inferred = dict(_results(side.names)).get(name)
    return inferred is not None and inferred.stride() == got.stride()


def source(program: Program) -> str:
    """A function `program` of the literal tensors, which returns all others by name."""
    inputs = ", ".join(_literals(program))
    body = [s.source for s in _body(program)]
    results = ", ".join(f"{name!r}: {name}" for s in _body(program) for name in s.results)
    lines = [f"def program({inputs}):", *body, f"return {{{results}}}"]
    return "\n    ".join(lines) + "\n"


def _literals(program: Program) -> list[str]:
    return [s.results[0] for s in program.statements if not s.op]


def _body(program: Program) -> list[Statement]:
    return [s for s in program.statements if s.op and "backward(" not in s.source]


def _on_cpu(program: Program) -> tuple[dict[str, Any], list[dict[str, torch.Tensor]], Any]:
    """The results, after each statement how far each of its numbers is to be moved, and the
    error of the backward pass.
    """
    sides = eager.Sides("cpu", exact=True)
    steps, error = [], None
    for statement in program.statements:
        error = sides.cpu.execute(statement.source)
        sides.run_double(statement)
        steps.append({name: _step(sides, name) for name in _touched(statement)})
    return sides.cpu.names, steps, error


def _touched(statement: Statement) -> tuple[str, ...]:
    if not statement.op:
        return ()
    return (statement.written,) if statement.written else statement.results


def _step(sides: eager.Sides, name: str) -> torch.Tensor:
    """Zero for numbers that float64 finds equal, else a few of their roundings."""
    value = sides.cpu.names[name].detach()
    if not value.dtype.is_floating_point:
        return torch.zeros(())
    exact, wide = sides.exact(name), value.double()
    step = MOVED * torch.finfo(value.dtype).eps * wide.abs()
    if exact is None or exact.shape != value.shape:
        return step
    error = (exact.double() - wide).abs().nan_to_num(0, 0, 0)
    return torch.where(exact == wide, 0, step + MOVED * error)


def _trial(program: Program, steps: list[dict[str, torch.Tensor]], seed: int) -> dict[str, Any]:
    side = eager.Side("cpu")
    random = torch.Generator().manual_seed(seed)
    for statement, moved in zip(program.statements, steps, strict=True):
        if "backward(" in statement.source:
            _move_gradients(side.names.values(), random)
        if side.execute(statement.source) is not None:
            break
        for name, step in moved.items():
            value = side.names[name]
            is_float = value.dtype.is_floating_point and value.shape == step.shape
            if is_float and memory.may_write(value, ()):
                sign = torch.randint(0, 2, value.shape, generator=random) * 2 - 1
                value.data.copy_(value.detach().double() + sign * step)
    return side.names


def _move_gradients(values: Iterable[torch.Tensor], random: torch.Generator) -> None:
    """Makes each function of the backward pass move what it gives by some roundings: several
    functions may give to one tensor what cancels.
    """

    def moved(gradient: torch.Tensor | None) -> torch.Tensor | None:
        if gradient is None or not gradient.dtype.is_floating_point:
            return gradient
        size = torch.randint(1, MOVED + 1, gradient.shape, generator=random)
        sign = torch.randint(0, 2, gradient.shape, generator=random) * 2 - 1
        wide = gradient.double()
        return (wide + sign * size * torch.finfo(gradient.dtype).eps * wide.abs()).to(
            gradient.dtype
        )

    waiting = [v.grad_fn for v in values if memory.node(v)]
    seen = set(waiting)
    while waiting:
        function = waiting.pop()
        function.register_hook(lambda given, _: tuple(map(moved, given)))
        following = {f for f, _ in function.next_functions if f is not None} - seen
        seen |= following
        waiting += following


def _compiled(program: Program, device: str, backend: str, refusal: Any) -> dict[str, Any]:
    """The results by name, gradients among them; `refusal` is the CPU's of the backward pass."""
    side = eager.Side(device)
    for statement in program.statements:
        if not statement.op:
            side.execute(statement.source)
    side.execute(source(program))
    function = side.names.pop("program")
    torch._dynamo.reset()
    fullgraph = not any(s.dynamic for s in program.statements)
    compiled = torch.compile(function, backend=backend, fullgraph=fullgraph, dynamic=False)
    try:
        side.names |= compiled(*(side.names[name] for name in _literals(program)))
    except Exception as error:
        raise Mismatch("error", f"{type(error).__name__}: {error}"[:2000]) from error
    for statement in program.statements:
        if "backward(" in statement.source:
            eager.same_errors(side.execute(statement.source), refusal)
    return dict(_results(side.names))


def _results(names: dict[str, Any]) -> Iterator[tuple[str, torch.Tensor]]:
    for name, value in names.items():
        if isinstance(value, torch.Tensor):
            yield name, value
            if not memory.node(value) and value.grad is not None:
                yield f"{name}.grad", value.grad


def _compare(name: str, got: Any, want: torch.Tensor, trials: list[Any]) -> None:
    comparison.described(got, want, graph=False)
    want = want.detach()
    if any(t is None or t.shape != want.shape for t in trials):
        return
    ours = got.detach().cpu()
    if not (want.dtype.is_floating_point or want.dtype.is_complex):
        steady = torch.ones(want.shape, dtype=torch.bool)
        for trial in trials:
            steady &= trial == want
        good = (ours == want) | ~steady
        spread = None
    else:
        wide = torch.complex128 if want.is_complex() else torch.float64
        ours, want = ours.to(wide), want.to(wide)
        spread = torch.zeros(want.shape, dtype=torch.float64)
        for trial in trials:
            spread = spread.maximum(_distance(trial.detach().to(wide), want))
        step = comparison.ROUNDINGS * torch.finfo(got.dtype).eps
        finite = want.abs()[want.isfinite()]
        largest = float(finite.amax()) if finite.numel() else 0.0  # of what one operator cancels
        allowed = ALLOWED * spread + step * largest + _smallest(got)
        good = comparison.within(ours, want, allowed) | spread.isinf()
    if not bool(good.all()):
        nans = (name, (~good).tolist()) if bool(ours[~good].isnan().all()) else None
        raise Mismatch(
            "value", f"{name} is {ours.tolist()!s:.1000} instead of {want.tolist()!s:.1000}", nans
        )


def _distance(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Infinite where one of them is not finite and they are not the same."""
    same = (one == other) | (one.isnan() & other.isnan())
    return torch.where(same, 0.0, (one - other).abs().nan_to_num(torch.inf, torch.inf))


def _smallest(t: torch.Tensor) -> float:
    wide = t.dtype in (torch.float64, torch.complex128)
    return torch.finfo(torch.float64 if wide else torch.float32).tiny


def printed(program: Program) -> str:
    """The compiled program as code to paste."""
    made = "\n".join(s.source for s in program.statements if not s.op)
    backward = "\n".join(s.source for s in program.statements if "backward(" in s.source)
    call = "compiled = torch.compile(program, backend='neuron')\n"
    call += f"globals().update(compiled({', '.join(_literals(program))}))\n"
    return f'{HEADER}\n\n{source(program)}\n\ndevice = "neuron"\n{made}\n{call}{backward}\n'
