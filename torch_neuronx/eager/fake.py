"""Runs an op on tensors without data, for result metadata, and on zeros, for PyTorch's own errors.

The fake tensors say they are on the CPU, share storages as the real ones do and are never written.
Where PyTorch's Python meta kernels check less than its CPU kernels (overlap, casts of results), the
op is run on CPU zeros instead and whatever it raises is raised. Called by `miss` and `trace`.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
)

from torch_neuronx.eager.call import Call, NumberListSpec, NumberSpec, TensorSpec
from torch_neuronx.lowering import registry

# The ops whose dispatcher entry takes a Python number where the schema says Tensor.
_TAKES_NUMBERS = frozenset(
    {
        "add",
        "div",
        "divide",
        "floor_divide",
        "mul",
        "multiply",
        "rsub",
        "sub",
        "subtract",
        "true_divide",
    }
)
_fake_log = logging.getLogger("torch._subclasses.fake_tensor")
_CPU = torch.device("cpu")
DYNAMIC = (DataDependentOutputException, DynamicOutputShapeException)


@functools.cache
def mode() -> FakeTensorMode:
    return FakeTensorMode()


class Stand:
    """Builds stand-ins for a call's arguments; `storages` and `tensor` decide of which kind."""

    def __init__(self, call: Call, tensor: Callable[[TensorSpec], torch.Tensor]) -> None:
        self.call = call
        self.tensor = functools.cache(tensor)
        self.takes_numbers = _base_name(call.op) in _TAKES_NUMBERS

    def value(self, argument: Any, type_name: str) -> Any:
        """The stand-in for one entry of `call.args`."""
        if isinstance(argument, TensorSpec):
            return self.tensor(argument)
        if isinstance(argument, NumberSpec):
            return self.number(argument, "Tensor" in type_name)
        if isinstance(argument, NumberListSpec):
            return list(argument.values)
        if isinstance(argument, list):
            return [self.value(a, type_name) for a in argument]
        return _placed(argument, type_name)

    def number(self, spec: NumberSpec, as_tensor: bool) -> Any:
        if not as_tensor or (spec.wrapped and self.takes_numbers):
            return spec.value
        dtype = stand_in_dtype(spec, self.call) if spec.wrapped else spec.dtype
        return self.scalar(spec.value, dtype)

    def scalar(self, value: Any, dtype: torch.dtype) -> torch.Tensor:
        raise NotImplementedError


class FakeStand(Stand):
    def __init__(self, call: Call) -> None:
        octets = functools.partial(torch.empty, dtype=torch.uint8, device="meta")
        self.storages = [octets(b.nbytes).untyped_storage() for b in call.bases]
        super().__init__(call, self._make)

    def _make(self, spec: TensorSpec) -> torch.Tensor:
        return FakeTensor(mode(), _view(self.storages[spec.base], spec, "meta"), _CPU)

    def scalar(self, value: Any, dtype: torch.dtype) -> torch.Tensor:
        return FakeTensor(mode(), torch.empty((), dtype=dtype, device="meta"), _CPU)


class RealStand(Stand):
    def __init__(self, call: Call, fill: int) -> None:
        self.storages = [
            torch.zeros(b.nbytes, dtype=torch.uint8).untyped_storage() for b in call.bases
        ]
        self.fill = fill
        super().__init__(call, self._make)

    def _make(self, spec: TensorSpec) -> torch.Tensor:
        made = _view(self.storages[spec.base], spec, "cpu")
        if self.fill:
            _whole(made).fill_(self.fill)
        return made

    def scalar(self, value: Any, dtype: torch.dtype) -> torch.Tensor:
        return torch.tensor(value, dtype=dtype)


def run(op: OpOverload, stand: Stand, arguments: Sequence[Any]) -> Any:
    """`op` on the stand-ins of `arguments`, which are in its schema's order."""
    positional, keyword = bind(op, stand, arguments)
    quiet = mode() if isinstance(stand, FakeStand) else contextlib.nullcontext()
    function = registry.inference(op) if isinstance(stand, FakeStand) else op
    with torch.no_grad(), warnings.catch_warnings(), quiet:
        warnings.simplefilter("ignore")
        return function(*positional, **keyword)


def run_fake(op: OpOverload, call: Call, arguments: Sequence[Any]) -> Any:
    """`op`'s results as fake tensors; its errors are those of PyTorch's CPU kernel."""
    try:
        with silent():
            return run(op, FakeStand(call), arguments)
    except DYNAMIC:
        raise
    except Exception:
        raise_cpu_error(call)
        raise


def raise_cpu_error(call: Call) -> None:
    """Raises what the call raises on CPU whatever the data; returns if it raises nothing."""
    if not registry.has_cpu_kernel(call.op):
        return
    error = _error_on_cpu(call, fill=0)
    if error is not None and _error_on_cpu(call, fill=1) is not None:
        raise error


def bind(
    op: OpOverload, stand: Stand, arguments: Sequence[Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The stand-ins as positional and keyword arguments of `op`."""
    positional: list[Any] = []
    keyword: dict[str, Any] = {}
    for declared, argument in zip(op._schema.arguments, arguments, strict=True):
        value = stand.value(argument, str(declared.type))
        if declared.kwarg_only:
            keyword[declared.name] = value
        else:
            positional.append(value)
    return positional, keyword


def stand_in_dtype(number: NumberSpec, call: Call) -> torch.dtype:
    """The dtype of a 0-d tensor that promotes against the call's as a Python number does."""
    tensors = list(call.tensors())
    ranked = [t for t in tensors if t.sizes] or tensors
    if not ranked:
        return torch.get_default_dtype() if number.dtype.is_floating_point else number.dtype
    common = functools.reduce(torch.promote_types, [t.dtype for t in ranked])
    if _category(number.dtype) <= _category(common):
        return common
    return torch.result_type(torch.empty(1, dtype=common, device="meta"), number.value)


def _error_on_cpu(call: Call, fill: int) -> Exception | None:
    seeded = torch.Tag.nondeterministic_seeded in call.op.tags
    state = torch.get_rng_state() if seeded else None
    try:
        run(call.op, RealStand(call, fill), call.args)
    except Exception as error:
        return error
    finally:
        if state is not None:
            torch.set_rng_state(state)
    return None


def _view(storage: torch.UntypedStorage, spec: TensorSpec, device: str) -> torch.Tensor:
    made = torch.empty(0, dtype=spec.dtype, device=device)
    made.set_(storage, spec.offset, spec.sizes, spec.strides)
    made = made.conj() if spec.conj else made
    return torch._neg_view(made) if spec.neg else made


def _whole(tensor: torch.Tensor) -> torch.Tensor:
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    return torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage(), 0, (count,), (1,))


def _placed(argument: Any, type_name: str) -> Any:
    if "Device" in type_name:
        return None if argument is None else _CPU
    return argument


def _base_name(op: OpOverload) -> str:
    return op.overloadpacket.__name__.removesuffix("_")


def _category(dtype: torch.dtype) -> int:
    if dtype.is_complex:
        return 3
    if dtype.is_floating_point:
        return 2
    return 0 if dtype == torch.bool else 1


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Keeps FakeTensorMode from logging a traceback for an error that the user will see anyway."""
    before = _fake_log.disabled
    _fake_log.disabled = True
    try:
        yield
    finally:
        _fake_log.disabled = before
