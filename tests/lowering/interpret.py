"""Runs what lowering builds with StableHLO's reference interpreter: no plugin, no device."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.hlo.bindings import context, element_type, mlir
from torch_neuronx.lowering.module import Module
from torch_neuronx.lowering.value import Value


def evaluate(build: Callable[..., Value], *inputs: torch.Tensor) -> torch.Tensor:
    """The result of the program that `build` makes of its inputs' values."""
    (result,) = evaluate_all(lambda *values: [build(*values)], *inputs)
    return result


def evaluate_all(
    build: Callable[..., Sequence[Value]], *inputs: torch.Tensor
) -> list[torch.Tensor]:
    module = Module("test")
    with module.build():
        values = [module.input(("base", i), tuple(x.shape), x.dtype) for i, x in enumerate(inputs)]
        results = list(build(*values))
        module.finish([_readable(r) for r in results], {})
    with context(), mlir().ir.Location.unknown():
        parsed = mlir().ir.Module.parse(module.text())
        used = [_attribute(inputs[key[1]]) for key in module.inputs]
        got = mlir().stablehlo.eval_module(parsed, used)
    return [_tensor(g, r) for g, r in zip(got, results, strict=True)]


def _readable(value: Value) -> Value:
    """The bindings read complex results as no array: their parts are returned instead."""
    parts = {torch.complex64: torch.float32, torch.complex128: torch.float64}
    return hlo.bitcast(value, parts[value.dtype]) if value.dtype in parts else value


def _attribute(tensor: torch.Tensor) -> object:
    array = tensor.contiguous().numpy()
    kind = element_type(tensor.dtype)
    return mlir().ir.DenseElementsAttr.get(array, type=kind, shape=array.shape)


def _tensor(attribute: object, value: Value) -> torch.Tensor:
    return torch.from_numpy(np.array(attribute)).view(value.dtype).reshape(value.shape)
