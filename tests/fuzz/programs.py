"""Random programs of PyTorch operators: lines of plain Python, made from a seed.

A program is text: each statement is one line that a person can paste, with `device` free. The
generator runs every line on the CPU as it goes, because the next statement depends on the shapes
and dtypes there are, and because a line that the CPU refuses is not worth keeping. What a line
may be is data: `grammar` has the operators, `slots` the kinds of arguments.
"""

from __future__ import annotations

import math
import random
import re
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from . import memory

if TYPE_CHECKING:
    from .grammar import Op

HEADER = """\
import torch
import torch.nn.functional as F
from math import inf, nan


def weights(t):  # a gradient to begin with
    return torch.arange(t.numel()).remainder(5).sub(2).reshape(t.shape).to(t)
"""
# Shapes that go together in one program: they broadcast, or share a dimension. Few, because each
# new shape is a program to compile.
FAMILIES = (
    ((2, 3), (3,), (2, 1), ()),
    ((2, 3), (3, 2), (3, 3), ()),
    ((4,), (1,), ()),
    ((3, 0), (0,), (1,), (3, 1)),
    ((2, 1, 4), (3, 4), (4,), ()),
    ((2, 2, 3), (2, 3), (3,), (2, 3, 2)),
    ((1, 2, 4, 4), (2, 4, 4), (4, 4), (4,)),
    ((2, 600), (600,), (600, 2), ()),  # where sums are taken in pieces
)
FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
INTEGERS = (torch.int64, torch.int32, torch.uint8)
FREQUENCIES = {
    torch.float32: 8,
    torch.int64: 3,
    torch.bool: 2,
    torch.bfloat16: 2,
    torch.float64: 2,
    torch.float16: 1,
    torch.int32: 1,
    torch.uint8: 1,
    torch.complex64: 1,
}
# Squares of the large ones are numbers: how a kernel sums what overflows is its own affair.
SPECIAL = ("nan", "inf", "-inf", "-0.0", "1e+15", "-1e-15", "65504.0")
LARGEST = 5000  # elements of a result
SPELT_OUT = 40  # elements of a literal; more are made by a rule
# What only the CPU lacks: a kernel for the dtype, and MKL a plan for no transforms at all.
LACKS = ("not implemented", "MKL FFT error")
REFUSALS = 0.3  # the share of the statements that the CPU refuses which are kept


@dataclass(frozen=True)
class Statement:
    """One line. `op` is the grammar's template, "" for factories and backward passes."""

    results: tuple[str, ...]
    source: str
    op: str = ""
    written: str = ""  # the tensor that an in-place or out= form writes
    accumulates: bool = False  # whether its error grows with the number of terms
    dynamic: bool = False  # whether the shape of a result depends on data
    raises: bool = False  # whether the CPU refuses it

    @property
    def uses(self) -> set[str]:
        return set(re.findall(r"\bt\d+\b", self.source)) - set(self.results)

    def __str__(self) -> str:
        return self.source


@dataclass(frozen=True)
class Program:
    seed: int
    statements: tuple[Statement, ...]

    @property
    def needs_gradients(self) -> bool:
        return any(".backward(" in s.source for s in self.statements)

    def __str__(self) -> str:
        lines = "\n".join(map(str, self.statements))
        return f'{HEADER}\n\ndevice = "neuron"  # and "cpu"\n{lines}\n'

    def without(self, statement: Statement) -> Program:
        """The program less a statement and all that depend on it, its other names included."""
        gone = set(statement.results)
        kept = []
        for other in self.statements:
            if other is statement or other.uses & gone:
                gone |= set(other.results)
            else:
                kept.append(other)
        return Program(self.seed, tuple(kept))


class Refused(Exception):
    """A statement that cannot be made from the tensors there are."""


@dataclass
class Builder:
    """A program in the making, and its tensors on the CPU."""

    rng: random.Random
    family: tuple[tuple[int, ...], ...]
    dtypes: tuple[torch.dtype, ...]
    gradients: bool
    special: bool
    names: dict[str, Any] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
    drawn: list[torch.Tensor] = field(default_factory=list)  # of the statement being made
    texts: list[str] = field(default_factory=list)

    def fresh(self) -> str:
        return f"t{sum(len(s.results) for s in self.statements)}"

    def literal(self, dtype: torch.dtype) -> str:
        rng = self.rng
        if dtype is torch.bool:
            return rng.choice(("True", "False"))
        if dtype.is_complex:
            return f"{rng.randint(-8, 8) / 4}{rng.randint(-8, 8) / 4:+}j"
        if not dtype.is_floating_point:
            if self.special and rng.random() < 0.15:
                return str(rng.choice((torch.iinfo(dtype).min, torch.iinfo(dtype).max)))
            return str(rng.randint(0 if dtype is torch.uint8 else -4, 5))
        if self.special and rng.random() < 0.15:
            return rng.choice(SPECIAL)
        return str(rng.randint(-8, 8) / 4 if rng.random() < 0.6 else round(rng.gauss(0, 2), 3))

    def nested(self, shape: tuple[int, ...], draw: Any) -> str:
        if not shape:
            return draw()
        return f"[{', '.join(self.nested(shape[1:], draw) for _ in range(shape[0]))}]"

    def factory(self, shape: tuple[int, ...], dtype: torch.dtype, draw: Any = None) -> str:
        """Adds a tensor of literal values; returns its name."""
        leaf = self.gradients and dtype.is_floating_point and self.rng.random() < 0.6
        if draw is None and math.prod(shape) > SPELT_OUT:
            return self.constant(self.made(shape, dtype) + (".requires_grad_()" if leaf else ""))
        values = self.nested(shape, draw or (lambda: self.literal(dtype)))
        if 0 in shape[:-1]:  # a nested list has no place for what follows an empty dimension
            return self.constant(f"torch.zeros({shape}, dtype={dtype}, device=device)")
        more = ", requires_grad=True" if leaf and draw is None else ""
        return self.constant(f"torch.tensor({values}, dtype={dtype}, device=device{more})")

    def made(self, shape: tuple[int, ...], dtype: torch.dtype) -> str:
        """Code for many numbers; of a float they are multiples of 1/8 up to 6."""
        rng, count = self.rng, math.prod(shape)
        is_whole = not (dtype.is_floating_point or dtype.is_complex)
        period, least, unit = (5, 0, 1) if is_whole else (97, 48, 8)
        source = f"torch.arange({count}).mul({rng.randint(2, 90)}).remainder({period}).sub({least})"
        return f"{source}.div({unit}).reshape({shape}).to({dtype}).to(device).clone()"

    def constant(self, source: str) -> str:
        name = self.fresh()
        self.add(Statement((name,), f"{name} = {source}"))
        return name

    def add(self, statement: Statement) -> None:
        execute(statement.source, self.names)
        self.statements.append(statement)

    def attempt(self, op: Op) -> bool:
        """Adds a statement of `op`, and the tensors it needs, if the CPU accepts it."""
        before, names = len(self.statements), dict(self.names)
        self.drawn, self.texts = [], []
        try:
            for slot in op.slots:
                self.texts.append(slot(self))
            self._check(op)
            self._apply(op)
        except Exception as error:  # whatever the CPU refuses
            if self._is_worth_refusing(op, error):
                source = op.template.format(*self.texts)
                self.statements.append(Statement((), source, op.template, raises=True))
                return True
            del self.statements[before:]
            self.names = names
            return False
        return True

    def _is_worth_refusing(self, op: Op, error: Exception) -> bool:
        """Now and then: the device must refuse it as well. What only the CPU lacks is no error."""
        if isinstance(error, Refused | NotImplementedError) or len(self.texts) < len(op.slots):
            return False
        is_ours = not any(lack in str(error) for lack in LACKS)
        return is_ours and self.rng.random() < REFUSALS

    def _check(self, op: Op) -> None:
        if op.guard is not None and not op.guard(*self.drawn):
            raise Refused
        if op.writes is not None:
            target = self.names[self.texts[op.writes]]
            others = [t for t in self.drawn if t is not target]
            if not memory.may_write(target, others):
                raise Refused

    def _apply(self, op: Op) -> None:
        source = op.template.format(*self.texts)
        # Tensors that a refused in-place statement has changed would not fit the text any more.
        written = "" if op.writes is None else self.texts[op.writes]
        if written:
            execute(source, memory.copied(self.names))
            execute(source, self.names)
            self.statements.append(
                Statement((), source, op.template, written, op.accumulates, op.dynamic)
            )
            return
        value = evaluate(source, self.names)
        is_list = isinstance(value, tuple | list)
        results = value if is_list else (value,)
        if not 1 <= len(results) <= 4 or any(r.numel() > LARGEST or r.dim() > 5 for r in results):
            raise Refused
        first = int(self.fresh()[1:])
        names = tuple(f"t{first + i}" for i in range(len(results)))
        self.names.update(zip(names, results, strict=True))
        line = f"{', '.join(names)}{',' if len(names) == 1 and is_list else ''} = {source}"
        self.statements.append(Statement(names, line, op.template, "", op.accumulates, op.dynamic))

    def finish(self) -> None:
        """Ends with a backward pass from the results that nothing else uses."""
        used = {name for s in self.statements for name in s.uses}
        ends = [
            name
            for name, t in self.names.items()
            if isinstance(t, torch.Tensor) and name not in used and memory.node(t)
        ]
        if ends:
            weights = ", ".join(f"weights({name})" for name in ends)
            source = f"torch.autograd.backward([{', '.join(ends)}], [{weights}])"
            self.statements.append(Statement((), source, "torch.autograd.backward", "", True))


def generate(seed: int) -> Program:
    """The program of a seed, the same in every process."""
    from .grammar import GROUPS

    rng = random.Random(seed)
    count = rng.choice((1, 2, 2, 3))
    builder = Builder(
        rng=rng,
        family=rng.choice(FAMILIES),
        dtypes=tuple(rng.choices(list(FREQUENCIES), list(FREQUENCIES.values()), k=count)),
        gradients=rng.random() < 0.3,
        special=rng.random() < 0.4,
    )
    weights = [group.weight for group in GROUPS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted, made = rng.randint(3, 9), 0
        for _ in range(12 * wanted):
            group = rng.choices(GROUPS, weights)[0]
            made += builder.attempt(rng.choice(group.ops))
            if made == wanted:
                break
        if builder.gradients:
            builder.finish()
    return Program(seed, tuple(builder.statements))


def namespace(device: str) -> dict[str, Any]:
    names: dict[str, Any] = {"device": device}
    exec(HEADER, names)
    return names


_GLOBALS = namespace("cpu")


def execute(source: str, names: dict[str, Any]) -> None:
    """Runs a line with the names of the CPU's side."""
    exec(source, _GLOBALS, names)


def evaluate(source: str, names: dict[str, Any]) -> Any:
    return eval(source, _GLOBALS, names)
