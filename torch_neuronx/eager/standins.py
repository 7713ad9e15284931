"""Stand-ins for a call's arguments: tensors without data, or CPU tensors of zeros.

They share storages as the real arguments do. Called by `fake` and `trace`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from torch_neuronx.eager.call import Call, NumberListSpec, NumberSpec, TensorSpec

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


@functools.cache
def fake_mode() -> FakeTensorMode:
    """Made on first use: it imports torch._dynamo."""
    return FakeTensorMode()


class MetaStandIns:
    """Tensors of PyTorch's meta device."""

    device = torch.device("meta")

    def __init__(self, call: Call) -> None:
        self.call = call
        self.takes_numbers = call.op.overloadpacket.__name__.removesuffix("_") in _TAKES_NUMBERS
        self.tensors: dict[int, torch.Tensor] = {}
        self.storages = [self.octets(base.nbytes).untyped_storage() for base in call.bases]

    def bind(self, op: OpOverload, arguments: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """Stand-ins of `arguments`, in the order of `op`'s schema, as it takes them."""
        positional: list[Any] = []
        keyword: dict[str, Any] = {}
        for declared, argument in zip(op._schema.arguments, arguments, strict=True):
            value = self.value(argument, declared)
            if declared.kwarg_only:
                keyword[declared.name] = value
            else:
                positional.append(value)
        return positional, keyword

    def value(self, argument: Any, declared: torch.Argument) -> Any:
        if isinstance(argument, TensorSpec):
            return self.tensor(argument)
        if isinstance(argument, NumberSpec):
            return self.number(argument, "Tensor" in str(declared.type))
        if isinstance(argument, NumberListSpec):
            return list(argument.values)
        if isinstance(argument, list):
            return [self.value(a, declared) for a in argument]
        if declared.name == "pin_memory":
            return None
        return self.device if "Device" in str(declared.type) else argument

    def tensor(self, spec: TensorSpec) -> torch.Tensor:
        if spec.index not in self.tensors:
            self.tensors[spec.index] = self.made(spec)
        return self.tensors[spec.index]

    def number(self, spec: NumberSpec, as_tensor: bool) -> Any:
        if not as_tensor or (spec.wrapped and self.takes_numbers):
            return spec.value
        return self.scalar(
            spec.value, scalar_dtype(spec, self.call) if spec.wrapped else spec.dtype
        )

    def octets(self, count: int) -> torch.Tensor:
        return torch.empty(count, dtype=torch.uint8, device="meta")

    def made(self, spec: TensorSpec) -> torch.Tensor:
        return _view(self.storages[spec.base], spec, "meta")

    def scalar(self, value: Any, dtype: torch.dtype) -> torch.Tensor:
        return torch.empty((), dtype=dtype, device="meta")


class FakeStandIns(MetaStandIns):
    """FakeTensors that say they are on the CPU."""

    device = torch.device("cpu")

    def made(self, spec: TensorSpec) -> torch.Tensor:
        return FakeTensor(fake_mode(), super().made(spec), self.device)

    def scalar(self, value: Any, dtype: torch.dtype) -> torch.Tensor:
        return FakeTensor(fake_mode(), super().scalar(value, dtype), self.device)


class CpuStandIns(MetaStandIns):
    """CPU tensors whose every element is `fill`."""

    device = torch.device("cpu")

    def __init__(self, call: Call, fill: int) -> None:
        super().__init__(call)
        self.fill = fill

    def octets(self, count: int) -> torch.Tensor:
        return torch.zeros(count, dtype=torch.uint8, device="cpu")

    def made(self, spec: TensorSpec) -> torch.Tensor:
        made = _view(self.storages[spec.base], spec, "cpu")
        if self.fill:
            _whole(made).fill_(self.fill)
        return made

    def scalar(self, value: Any, dtype: torch.dtype) -> torch.Tensor:
        return torch.tensor(value, dtype=dtype, device="cpu")


def scalar_dtype(number: NumberSpec, call: Call) -> torch.dtype:
    """The dtype of a 0-d tensor that promotes against the call's as a Python number does."""
    tensors = list(call.tensors())
    ranked = [t for t in tensors if t.sizes] or tensors
    if not ranked:
        return torch.get_default_dtype() if number.dtype.is_floating_point else number.dtype
    common = functools.reduce(torch.promote_types, [t.dtype for t in ranked])
    if _category(number.dtype) <= _category(common):
        return common
    return torch.result_type(torch.empty(1, dtype=common, device="meta"), number.value)


def _category(dtype: torch.dtype) -> int:
    if dtype.is_complex:
        return 3
    if dtype.is_floating_point:
        return 2
    return 0 if dtype == torch.bool else 1


def _view(storage: torch.UntypedStorage, spec: TensorSpec, device: str) -> torch.Tensor:
    made = torch.empty(0, dtype=spec.dtype, device=device)
    made.set_(storage, spec.offset, spec.sizes, spec.strides)
    made = made.conj() if spec.conj else made
    return torch._neg_view(made) if spec.neg else made


def _whole(tensor: torch.Tensor) -> torch.Tensor:
    storage = tensor.untyped_storage()
    count = storage.nbytes() // tensor.element_size()
    flat = torch.empty(0, dtype=tensor.dtype, device="cpu")
    return flat.set_(storage, 0, (count,), (1,))
