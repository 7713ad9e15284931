"""Operators of whose results PyTorch promises less than every number, and what it promises.

`determined(name, sample, result)` is the part of a result that two correct devices share.
Descriptions (dtype, shape, strides) are compared of the whole result in any case.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_map

from .databases import Sample


def _nothing(result: Any) -> Any:
    return ()


def _magnitudes(result: Any) -> Any:
    """Vectors up to a sign or a phase."""
    return tree_map(lambda t: t.abs() if isinstance(t, torch.Tensor) else t, result)


RANDOM = "each device has its own random numbers"
MEMORY = "the memory is left as it is"
PHASES = "eigenvectors and singular vectors are free up to a phase"

_DECLARED: tuple[tuple[str, Callable[[Any], Any], tuple[str, ...]], ...] = (
    (
        RANDOM,
        _nothing,
        (
            "bernoulli",
            "cauchy",
            "exponential",
            "geometric",
            "log_normal",
            "multinomial",
            "nn.functional.alpha_dropout",
            "nn.functional.dropout",
            "nn.functional.dropout2d",
            "nn.functional.dropout3d",
            "nn.functional.feature_alpha_dropout.with_train",
            "nn.functional.fractional_max_pool2d",
            "nn.functional.fractional_max_pool3d",
            "nn.functional.rrelu",
            "normal",
            "normal.in_place",
            "normal.number_mean",
            "pca_lowrank",
            "rand_like",
            "randint",
            "randint_like",
            "randn",
            "randn_like",
            "svd_lowrank",
            "uniform",
        ),
    ),
    (
        MEMORY,
        _nothing,
        (
            "empty",
            "empty_like",
            "empty_permuted",
            "empty_strided",
            "new_empty",
            "new_empty_strided",
        ),
    ),
    (PHASES, _magnitudes, ("linalg.eig", "linalg.eigh", "linalg.svd", "svd")),
)
# Arguments that make a call random when they are not zero, by name or position.
RANDOM_ARGUMENTS: dict[str, str | int] = {
    "nn.functional.scaled_dot_product_attention": "dropout_p",
    "nn.functional.multi_head_attention_forward": 10,
}
_PARTS = {name: part for _, part, names in _DECLARED for name in names}


def reason(name: str) -> str:
    """Why not all numbers of the operator are compared; "" when they are."""
    return next((why for why, _, names in _DECLARED if name in names), "")


def determined(name: str, sample: Sample, result: Any) -> Any:
    if sample.random:
        return _nothing(result)
    if name in RANDOM_ARGUMENTS and _argument(sample, RANDOM_ARGUMENTS[name]):
        return _nothing(result)
    return _PARTS[name](result) if name in _PARTS else result


def _argument(sample: Sample, place: str | int) -> Any:
    return sample.kwargs.get(place) if isinstance(place, str) else sample.args[place]
