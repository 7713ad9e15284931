"""Builds the calls that the C++ dispatcher would build, from CPU tensors."""

from __future__ import annotations

from typing import Any

import torch

from torch_neuronx.eager import describe
from torch_neuronx.eager.call import BaseSpec, Call, NumberSpec, TensorSpec
from torch_neuronx.lowering import layout, recipe

_NUMBERS = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}


class CallBuilder:
    def __init__(self, op: torch._ops.OpOverload) -> None:
        self.op = op
        self.runtime = describe(op).runtime
        self.bases: dict[int, tuple[BaseSpec, torch.UntypedStorage]] = {}
        self.tensors = 0
        self.numbers = 0

    def build(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        given = dict(zip((a.name for a in self.op._schema.arguments), args, strict=False)) | kwargs
        values = tuple(
            self.argument(declared, given.get(declared.name, declared.default_value))
            for declared in self.op._schema.arguments
        )
        return Call(self.op, values, tuple(spec for spec, _ in self.bases.values()), b"")

    def argument(self, declared: torch.Argument, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if "Tensor" in str(declared.type):
            if isinstance(value, (list, tuple)):
                return [self.argument(declared, v) for v in value]
            return value if value is None else self.number(value)
        if declared.name in self.runtime and value != declared.default_value:
            return self.number(value)
        return value

    def number(self, value: Any) -> NumberSpec:
        self.numbers += 1
        return NumberSpec(_NUMBERS[type(value)], self.numbers - 1, True, value)

    def tensor(self, tensor: torch.Tensor) -> TensorSpec:
        storage = tensor.untyped_storage()
        sizes, strides, nbytes = tuple(tensor.shape), tensor.stride(), storage.nbytes()
        view = recipe.View(tensor.dtype, sizes, strides, tensor.storage_offset())
        whole = recipe.covers(view, nbytes)
        if storage._cdata not in self.bases:
            flat = (nbytes // tensor.element_size(),)
            shape = layout.physical_shape(sizes, strides) if whole else flat
            self.bases[storage._cdata] = BaseSpec(tensor.dtype, shape, nbytes, True), storage
        self.tensors += 1
        base = list(self.bases).index(storage._cdata)
        return TensorSpec(
            tensor.dtype,
            sizes,
            strides,
            tensor.storage_offset(),
            base,
            self.tensors - 1,
            tensor.is_conj(),
            tensor.is_neg(),
            requires_offset=not whole,
        )


def call_of(op: torch._ops.OpOverload, *args: Any, **kwargs: Any) -> Call:
    return CallBuilder(op).build(args, kwargs)
