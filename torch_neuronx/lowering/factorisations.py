"""Rules of matrix factorisations that are LAPACK's: QR, SVD, eigenvalues, LDL, least squares.

They call PyTorch's CPU kernels, as do those of errors: `LinAlgError` is raised with the CPU's
message.
"""

from __future__ import annotations

import functools

import torch

from torch_neuronx.lowering import hlo, kernels
from torch_neuronx.lowering.addressing import any_true
from torch_neuronx.lowering.context import check
from torch_neuronx.lowering.registry import lowers

aten = torch.ops.aten

# The results of these say what failed, or nothing can.
kernels.runs_kernel(
    aten.linalg_qr.default,
    aten.geqrf.default,
    aten.ormqr.default,
    aten.linalg_householder_product.default,
    may_fail=False,
)

kernels.runs_kernel(
    aten._linalg_svd.default,
    aten._linalg_eigh.default,
    aten.linalg_eig.default,
    aten.linalg_ldl_factor_ex.default,
    aten.linalg_ldl_solve.default,
    aten.linalg_pinv.atol_rtol_tensor,
    aten.cholesky.default,
    aten.cholesky_inverse.default,
    aten._linalg_check_errors.default,
)


@lowers(aten._linalg_eigvals.default)
def _eigvals(out, a):
    """LAPACK may crash of values that are not finite, which `eig` refuses itself."""
    parts = (hlo.real(a), hlo.imag(a)) if a.dtype.is_complex else (a,)
    bad = functools.reduce(hlo.or_, (any_true(~hlo.is_finite(part)) for part in parts))
    message = "torch.linalg.eigvals: input tensor should not contain infs or NaNs."
    check(bad, "RuntimeError", message)
    finite = hlo.select(hlo.broadcast_to(bad, a.shape), hlo.full(a.shape, 0, a.dtype), a)
    return kernels.call(aten._linalg_eigvals.default, out, finite)


@lowers(aten.linalg_lstsq.default)
def _lstsq(out, a, b, rcond=None, *, driver=None):
    rows, columns = a.shape[-2:]
    if rows > columns and driver in ("gelss", "gelsd"):
        raise NotImplementedError("whether there are residuals depends on the rank of the matrix")
    return kernels.call(aten.linalg_lstsq.default, out, a, b, rcond, driver=driver)
