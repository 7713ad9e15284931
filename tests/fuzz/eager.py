"""Runs a program statement by statement on the CPU and on the device, and compares after each.

After a statement the device gets the CPU's numbers wherever its own differ in a bit, so that each
statement is judged by itself: a comparison, a sort or a cast to an integer sees equal inputs, and
errors do not add up. With `exact`, the program runs a third time in float64, from the same
numbers, which says how large the CPU's own errors are.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch

from . import comparison, memory
from .comparison import Mismatch
from .programs import Program, Statement, namespace

DOUBLE = {
    "torch.float32": "torch.float64",
    "torch.float16": "torch.float64",
    "torch.bfloat16": "torch.float64",
    "torch.complex64": "torch.complex128",
    ".float()": ".double()",
}


def run(program: Program, device: str = "neuron") -> None:
    """Raises the first Mismatch, its statement as `statement`."""
    try:
        _run(program, device, exact=False)
    except Mismatch as mismatch:
        if mismatch.kind != "value":
            raise
        _run(program, device, exact=True)


def _run(program: Program, device: str, exact: bool) -> None:
    sides = Sides(device, exact)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for statement in program.statements:
            try:
                sides.step(statement)
            except Mismatch as mismatch:
                mismatch.statement = statement
                raise
        sides.compare_all()


class Side:
    """The names of one device."""

    def __init__(self, device: str):
        self.globals = namespace(device)
        self.names: dict[str, Any] = {}

    def execute(self, source: str) -> Exception | None:
        try:
            exec(source, self.globals, self.names)
        except Exception as error:
            return error
        return None


class Sides:
    def __init__(self, device: str, exact: bool):
        self.cpu, self.device = Side("cpu"), Side(device)
        self.double = Side("cpu") if exact else None

    def step(self, statement: Statement) -> None:
        inputs = self._inputs(statement)
        want = self.cpu.execute(statement.source)
        got = self.device.execute(statement.source)
        same_errors(got, want)
        if want is not None:
            self.compare_all()
            return
        self.run_double(statement)
        for name in statement.results or filter(None, (statement.written,)):
            self._compare(name, statement, inputs)
        comparison.same_sharing(self.device.names, self.cpu.names)
        if "backward" in statement.source:
            self._compare_gradients(inputs)
        else:
            self._follow(statement, inputs)

    def _inputs(self, statement: Statement) -> list[torch.Tensor]:
        values = [self.cpu.names[name] for name in sorted(statement.uses)]
        if statement.written:
            values = [v.clone() for v in values]
        return values

    def run_double(self, statement: Statement) -> None:
        if self.double is None:
            return
        source = statement.source
        for coarse, fine in DOUBLE.items():
            source = source.replace(coarse, fine)
        torch.set_default_dtype(torch.float64)
        try:
            if self.double.execute(source) is not None:
                for name in statement.results:
                    self.double.names.pop(name, None)
        finally:
            torch.set_default_dtype(torch.float32)

    def exact(self, name: str) -> torch.Tensor | None:
        value = None if self.double is None else self.double.names.get(name)
        return None if value is None else value.detach()

    def _compare(self, name: str, statement: Statement, inputs: list[torch.Tensor]) -> None:
        got, want = self.device.names[name], self.cpu.names[name]
        comparison.described(got, want)
        ours = on_cpu(got)
        exact = self.exact(name)
        if not comparison.close(ours, want.detach(), inputs, exact, statement.accumulates):
            raise Mismatch("value", _shown(name, ours, want, exact))

    def _compare_gradients(self, inputs: list[torch.Tensor]) -> None:
        values = list(self.cpu.names.values())
        if comparison.has_open_gradients(values):
            return
        for name, value in self.cpu.names.items():
            want, got = _gradient(value), _gradient(self.device.names[name])
            if (want is None) != (got is None):
                raise Mismatch("autograd", f"{name}.grad is {got} instead of {want}")
            if want is None:
                continue
            exact = None if self.double is None else _gradient(self.double.names.get(name))
            comparison.described(got, want, graph=False)
            if not comparison.close(got.cpu(), want, values, exact, True):
                raise Mismatch("value", _shown(f"{name}.grad", got.cpu(), want, exact))

    def _follow(self, statement: Statement, inputs: list[torch.Tensor]) -> None:
        """Gives the others the CPU's numbers, in the storages that the statement touched."""
        touched = statement.results or ((statement.written,) if statement.written else ())
        for key, name in {memory.storage(self.cpu.names[n]): n for n in touched}.items():
            theirs = memory.whole(self.cpu.names[name])
            ours = memory.whole(self.device.names[name])
            if ours.shape != theirs.shape:  # a kernel of the CPU made its result larger at first
                ours, theirs = self.device.names[name].data, self.cpu.names[name].data
            got = ours.cpu()
            if not _same_bits(got, theirs):
                self._compare_rest(name, got, theirs, inputs, statement)
                ours.copy_(theirs)
            self._follow_double(key)

    def _compare_rest(self, name, got, theirs, inputs, statement) -> None:
        """What an in-place write does not name must be as it was; the rest within rounding."""
        if not statement.written:
            return
        untouched = torch.ones(theirs.numel(), dtype=torch.bool)
        untouched[memory.places(self.cpu.names[name])] = False
        if not torch.equal(got[untouched], theirs[untouched]) and not torch.allclose(
            got[untouched], theirs[untouched], rtol=0, atol=0, equal_nan=True
        ):
            raise Mismatch("value", f"the write of {name} changed more than {name}")

    def _follow_double(self, key: int) -> None:
        if self.double is None:
            return
        for name, value in self.cpu.names.items():
            double = self.double.names.get(name)
            if memory.storage(value) != key or double is None or double.shape != value.shape:
                continue
            if memory.may_write(double, ()):
                double.data.copy_(value.detach())

    def compare_all(self) -> None:
        """At the end, no tensor has changed that no statement wrote."""
        for name, want in self.cpu.names.items():
            got = on_cpu(self.device.names[name])
            if not torch.allclose(
                got.double() if not got.is_complex() else got,
                want.detach().double() if not want.is_complex() else want.detach(),
                rtol=0,
                atol=0,
                equal_nan=True,
            ):
                raise Mismatch("value", f"at the end: {_shown(name, got, want, None)}")


def on_cpu(tensor: torch.Tensor) -> torch.Tensor:
    """The numbers of a device's tensor, through its whole storage, which compiles nothing."""
    flat = memory.whole(tensor).cpu()
    view = flat.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    view = view.conj() if tensor.is_conj() else view
    return torch._neg_view(view) if tensor.is_neg() else view


def _gradient(value: Any) -> torch.Tensor | None:
    if value is None or memory.node(value) or value.grad is None:
        return None
    return value.grad.detach()


def same_errors(got: Exception | None, want: Exception | None) -> None:
    if type(got) is not type(want):
        raise Mismatch("error", f"{got!r} instead of {want!r}")


def _same_bits(got: torch.Tensor, want: torch.Tensor) -> bool:
    # clone: a view of one element may have any stride, and could not be seen as bytes.
    got, want = (t.reshape(-1).clone(memory_format=torch.contiguous_format) for t in (got, want))
    return torch.equal(got.view(torch.uint8), want.view(torch.uint8))


def _shown(name: str, got: torch.Tensor, want: torch.Tensor, exact: torch.Tensor | None) -> str:
    text = f"{name} is {got.tolist()!s:.1000} instead of {want.tolist()!s:.1000}"
    return text + (f"; in float64 {exact.tolist()!s:.1000}" if exact is not None else "")
