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


# Operators that order: where their `dim` is among the positional arguments, and its default.
ORDERS = {
    "argsort": (1, -1),
    "kthvalue": (2, -1),
    "msort": (1, 0),
    "sort": (1, -1),
    "topk": (2, -1),
}


def _without_ties(name: str, sample: Sample, result: Any) -> Any:
    """Equal elements come in any order, unless the sort is a stable one. So positions become the
    elements there, and of gradients only what a slice of them adds up to is compared; so of
    tangents, where all elements are in the result.
    """
    x, dim = sample.args[0].detach(), _dim(name, sample)
    if sample.kwargs.get("stable") or x.dim() == sample.lanes or not _has_ties(x, dim):
        return result

    def elements(positions: torch.Tensor) -> torch.Tensor:
        positions = positions.cpu()
        if positions.dim() < x.dim():
            positions = positions.unsqueeze(dim)
        return torch.take_along_dim(x, positions, dim)

    def walk(value: Any) -> Any:
        if not isinstance(value, tuple | list):
            return value
        match value:
            case torch.Tensor(), torch.Tensor() as tangent if tangent.is_floating_point():
                return value[0], added(tangent) if name in ("sort", "msort") else ()
            case torch.Tensor() as values, torch.Tensor() as positions:
                return values, elements(positions)
            case torch.Tensor() as positions, None:
                return elements(positions), None
        return tuple(map(walk, value))

    def added(slices: torch.Tensor | None) -> torch.Tensor | None:
        if slices is None or slices.dim() != x.dim():
            return slices
        return slices.cpu().double().sum(dim)

    if all(t is None or isinstance(t, torch.Tensor) for t in result):
        return [added(gradient) for gradient in result]
    return (elements(result[0]), result[1]) if name == "argsort" else walk(result)


def _dim(name: str, sample: Sample) -> int:
    place, default = ORDERS[name]
    positional = dict(enumerate(sample.args))
    dim = sample.kwargs.get("dim", positional.get(place, default))
    return dim + sample.lanes if dim >= 0 else dim


def _has_ties(x: torch.Tensor, dim: int) -> bool:
    return bool((x.sort(dim).values.diff(dim=dim) == 0).any())


RANDOM = "each device has its own random numbers"
MEMORY = "the memory is left as it is"
TIES = "equal elements come in any order, unless the sort is a stable one"
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
            "normal_.in_place",
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
    if name in ORDERS:
        return TIES
    return next((why for why, _, names in _DECLARED if name in names), "")


def determined(name: str, sample: Sample, result: Any) -> Any:
    name = name.removeprefix("_refs.")  # PyTorch's definition of the operator promises no more
    if sample.random:
        return _nothing(result)
    if name in RANDOM_ARGUMENTS and _argument(sample, RANDOM_ARGUMENTS[name]):
        return _nothing(result)
    if name in ORDERS:
        return _without_ties(name, sample, result)
    return _PARTS[name](result) if name in _PARTS else result


def _argument(sample: Sample, place: str | int) -> Any:
    return sample.kwargs.get(place) if isinstance(place, str) else sample.args[place]
