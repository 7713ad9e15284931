"""What has no kernel on the device, in a sentence that names the operator and a way out."""

from __future__ import annotations

from typing import Any, NoReturn

import torch

from torch_neuronx.layouts import computes

aten = torch.ops.aten


@computes("sparse_compressed", aten.triangular_solve.X)
def triangular_solve(*_: Any) -> NoReturn:
    raise NotImplementedError(
        "torch.triangular_solve with a sparse compressed matrix is not implemented on neuron; use "
        "torch.linalg.solve_triangular with matrix.to_dense()"
    )
