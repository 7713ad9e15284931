"""The checks of one architecture, in order, and the record of what they found."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

import torch_neuronx
from torch_neuronx import device
from torch_neuronx.flex_attention import enable_flex_attention
from torch_neuronx.runtime import metrics
from torch_neuronx.sweep import causes, comparison, generation
from torch_neuronx.sweep.catalog import Architecture
from torch_neuronx.sweep.causes import Failure
from torch_neuronx.sweep.comparison import Judges, Tensors
from torch_neuronx.sweep.locate import first_difference
from torch_neuronx.sweep.roundings import MovedRoundings
from torch_neuronx.sweep.subject import Subject, build

CHECKS = ("load", "forward", "backward", "generate", "fallback", "compile")
PASSED, FAILED, WRONG = "passed", "failed", "wrong"
_MOVES = 16  # runs whose roundings are moved: enough to see the choices of a near tie


class Run:
    """One architecture's checks. `record` is what the sweep keeps of it, as plain data:

    checks: name -> passed, failed (it raised) or wrong (another result); those that do not apply
    are absent. ran: the checks that were asked for. failures: one `causes.Failure` for each check
    that did not pass, and for what the CPU does not run. seconds: by what took them. memory: peak
    bytes on the device. programs: how many were compiled and loaded. fallbacks: ops that ran on
    the host. breaks: graph breaks of torch.compile.
    """

    def __init__(
        self,
        architecture: Architecture,
        checks: Sequence[str] = CHECKS,
        build: Callable[[Architecture], Subject] = build,
    ):
        self.architecture = architecture
        self._build = build
        self._wanted = checks
        self._seconds: dict[str, float] = {}
        self._failures: list[dict[str, Any]] = []
        self.record: dict[str, Any] = {"checks": {}, "ran": list(checks)}

    def __call__(self) -> dict[str, Any]:
        before = metrics.requests()
        with self._timed("total"), contextlib.suppress(_Stop), enable_flex_attention():
            self._all()
        made = metrics.requests()
        self.record["programs"] = [made[tier] - before[tier] for tier in ("compiled", "disk")]
        self.record["seconds"] = self._seconds
        self.record["failures"] = self._failures
        return self.record

    def _all(self) -> None:
        with self._reference("build"):
            self.cpu = self._build(self.architecture)
            self._fresh = self.cpu.on("cpu")  # copied before a run leaves something in it
        self.record["parameters"] = sum(p.numel() for p in self.cpu.model.parameters())
        with self._reference("cpu"):
            returned = self.cpu.forward()
            self._outputs = kept(comparison.tensors(returned))
            if not comparison.is_finite(self._outputs):
                raise ValueError("the CPU's own result is not finite: nothing can be compared")
        self._gradients: Tensors = {}
        with contextlib.suppress(_Stop), self._reference("cpu backward"):
            self._gradients = kept(self.cpu.gradients(returned))
        if not self._wanted:
            return
        torch_neuronx.clear_op_tracking()
        device.reset_peak_memory_stats()
        with self._checking("load"):
            self.device = self._fresh.on("neuron")
        if self.record["checks"]["load"] is not PASSED:
            return
        self._eager()
        if "compile" in self._wanted:
            self._compile()
        self.record["memory"] = device.max_memory_allocated()

    def _eager(self) -> None:
        if not {"forward", "backward", "generate", "fallback"}.intersection(self._wanted):
            return
        with self._checking("forward"):
            returned = self.device.forward()
            self._agree(comparison.tensors(returned), self._outputs, 1, self._judge_outputs)
        if self.record["checks"]["forward"] is FAILED:
            return
        with self._timed("forward again"), torch.no_grad():
            self.device.forward()
            device.synchronize()
        if "backward" in self._wanted and self._gradients:
            with self._checking("backward"):
                gradients = self.device.gradients(returned)
                self._agree(gradients, self._gradients, 3, self._judge_gradients)
        if "generate" in self._wanted and generation.applies(self.architecture, self.cpu.model):
            self._generate()
        if "fallback" in self._wanted:
            self._fallbacks()

    def _generate(self) -> None:
        with contextlib.suppress(_Stop), self._reference("cpu generate"):
            wanted = generation.tokens(self.cpu)
        if self._failures and self._failures[-1]["check"] == "cpu generate":
            return
        with self._checking("generate"):
            got = generation.tokens(self.device)
            if not torch.equal(got.cpu(), wanted):
                raise _Wrong(f"tokens {got.tolist()} instead of {wanted.tolist()}")

    def _compile(self) -> None:
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        got: Tensors = {}
        with self._checking("compile", lambda: self._cause_of_compile(got)), torch.no_grad():
            compiled = torch.compile(self.device.model, backend="neuron", dynamic=False)
            try:
                got.update(comparison.tensors(self.device.forward(compiled)))
            finally:
                breaks = torch._dynamo.utils.counters["graph_break"]
                self.record["breaks"] = sum(breaks.values())
            self._agree(got, self._outputs, 1, self._judge_outputs)

    def _cause_of_compile(self, got: Tensors) -> str:
        """The library's where PyTorch's tracing alone, its graph run op by op on the CPU, gives
        what the device gave, or raises as it did."""
        torch._dynamo.reset()
        cpu = self._fresh.on("cpu")
        try:
            with torch.no_grad():
                traced = torch.compile(cpu.model, backend="aot_eager", dynamic=False)
                want = comparison.tensors(cpu.forward(traced))
        except Exception:
            return causes.BACKEND if got else causes.LIBRARY
        if comparison.difference(got, want, comparison.tolerance(cpu.model, 1)):
            return causes.BACKEND
        return causes.LIBRARY

    def _fallbacks(self) -> None:
        ops = torch_neuronx.get_fallback_ops()
        self.record["fallbacks"] = ops
        self.record["checks"]["fallback"] = FAILED if ops else PASSED
        if ops:
            message = f"{len(ops)} ops ran on the host"
            failure = Failure("fallback", causes.BACKEND, "host", message, op=", ".join(ops))
            self._failures.append(failure.as_dict())

    def _agree(
        self, got: Tensors, want: Tensors, passes: int, judges: Callable[[], Judges | None]
    ) -> None:
        allowed = comparison.tolerance(self.cpu.model, passes)
        found = comparison.difference(got, want, allowed, judges)
        if found:
            module = first_difference(self.cpu, self.device) if passes == 1 else ""
            raise _Wrong(found, module)

    def _judge_outputs(self) -> Judges | None:
        return self._judges(lambda s: comparison.tensors(s.forward()), self._outputs)

    def _judge_gradients(self) -> Judges | None:
        return self._judges(lambda s: s.gradients(s.forward()), self._gradients)

    def _judges(self, result: Callable[[Subject], Tensors], single: Tensors) -> Judges | None:
        """`single`: the CPU's result in float32."""
        with contextlib.suppress(Exception):
            moved = [self._moved(result, seed) for seed in range(_MOVES)]
            with contextlib.suppress(Exception):  # not every model runs in float64
                return Judges(kept(result(self._fresh.double())), moved)
            return Judges(single, moved, "float32")
        return None

    def _moved(self, result: Callable[[Subject], Tensors], seed: int) -> Tensors:
        with MovedRoundings(seed):
            return kept(result(self._fresh.on("cpu")))

    @contextlib.contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        begin = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[what] = round(time.perf_counter() - begin, 3)

    @contextlib.contextmanager
    def _reference(self, stage: str) -> Iterator[None]:
        """What must work on the CPU: without it there is nothing to judge the device by."""
        try:
            with self._timed(stage):
                yield
        except Exception as error:
            cause = causes.of_reference(self.architecture)
            self._failures.append(causes.from_exception(stage, cause, error).as_dict())
            raise _Stop from None

    @contextlib.contextmanager
    def _checking(
        self, name: str, cause: Callable[[], str] = lambda: causes.BACKEND
    ) -> Iterator[None]:
        verdict = FAILED
        try:
            with self._timed(name):
                yield
                device.synchronize()
            verdict = PASSED
        except _Wrong as wrong:
            if cause() is causes.BACKEND:
                verdict = WRONG
                failure = Failure(name, causes.BACKEND, "wrong", wrong.what, op=wrong.module)
            else:
                what = f"traced by PyTorch, on the CPU as well: {wrong.what}"
                failure = Failure(name, causes.LIBRARY, "changed", what)
            self._failures.append(failure.as_dict())
        except Exception as error:
            found = causes.from_exception(name, cause(), error)
            self._failures.append(found.as_dict())
        finally:
            self.record["checks"][name] = verdict


class _Stop(Exception):
    """There is nothing more to check."""


class _Wrong(Exception):
    """Another result than the CPU's. `module`: the first one whose result differs."""

    def __init__(self, what: str, module: str = ""):
        super().__init__(what)
        self.what, self.module = what, module


def kept(values: Tensors) -> Tensors:
    """Copies that later writes do not reach."""
    return {name: value.detach().clone() for name, value in values.items()}
