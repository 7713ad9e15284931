"""Rules of systems with a triangular matrix."""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.kernels import prefers_kernel
from torch_neuronx.lowering.matrices import batched, expanded
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten


def solve(
    out, a: Value, b: Value, *, upper: bool, left=True, unit=False, transpose="NO_TRANSPOSE"
) -> Value:
    """x of shape `out` with op(a) x = b, or x op(a) = b; leading dimensions are broadcast."""
    if not out.numel:
        return hlo.full(out.shape, 0, out.dtype)
    lead = out.shape[:-2]
    a, b = (batched(expanded(x, lead)) for x in (a, b))
    x = hlo.triangular_solve(a, b, left=left, lower=not upper, unit=unit, transpose=transpose)
    return hlo.reshape(x, out.shape)


@prefers_kernel(aten.linalg_solve_triangular.default)
def _solve_triangular(out, a, b, *, upper, left=True, unitriangular=False):
    return solve(out, a, b, upper=upper, left=left, unit=unitriangular)


@lowers(aten.triangular_solve.default)
def _triangular_solve(out, b, a, upper=True, transpose=False, unitriangular=False):
    """-> (x, the matrices, broadcast as x is)."""
    how = "TRANSPOSE" if transpose else "NO_TRANSPOSE"
    solution = solve(out[0], a, b, upper=upper, unit=unitriangular, transpose=how)
    return solution, hlo.broadcast_to(a, out[1].shape)
