"""StableHLO's gather and scatter with their full dimension numbers. Called by indexing rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_neuronx.lowering.hlo.bindings import int_array, mlir, tensor_type
from torch_neuronx.lowering.hlo.control import fill_region
from torch_neuronx.lowering.hlo.reduce import combine
from torch_neuronx.lowering.value import Value


def gather(
    x: Value,
    indices: Value,
    slice_sizes: Sequence[int],
    *,
    offset_dims: Sequence[int],
    collapsed_slice_dims: Sequence[int],
    start_index_map: Sequence[int],
    index_vector_dim: int,
    operand_batching_dims: Sequence[int] = (),
    start_indices_batching_dims: Sequence[int] = (),
    sorted: bool = False,
) -> Value:
    """Slices of `x` at `indices`, which are clamped into range."""
    numbers = mlir().stablehlo.GatherDimensionNumbers.get(
        list(offset_dims),
        list(collapsed_slice_dims),
        list(operand_batching_dims),
        list(start_indices_batching_dims),
        list(start_index_map),
        index_vector_dim,
    )
    result = mlir().stablehlo.gather(
        x.ir, indices.ir, numbers, int_array(slice_sizes), indices_are_sorted=sorted
    )
    gone = {*collapsed_slice_dims, *operand_batching_dims}
    window = iter([n for d, n in enumerate(slice_sizes) if d not in gone])
    batch = iter([n for d, n in enumerate(indices.shape) if d != index_vector_dim])
    rank = indices.ndim - (index_vector_dim < indices.ndim) + len(offset_dims)
    shape = tuple(next(window) if d in offset_dims else next(batch) for d in range(rank))
    return Value(result, shape, x.dtype)


def scatter(
    x: Value | Sequence[Value],
    indices: Value,
    updates: Value | Sequence[Value],
    *,
    update_window_dims: Sequence[int],
    inserted_window_dims: Sequence[int],
    scatter_dims_to_operand_dims: Sequence[int],
    index_vector_dim: int,
    input_batching_dims: Sequence[int] = (),
    scatter_indices_batching_dims: Sequence[int] = (),
    combiner: str | Callable[..., Value | Sequence[Value]] = "set",
    sorted: bool = False,
    unique: bool = False,
) -> Value | list[Value]:
    """`x` with `updates` folded in at `indices`; an update out of range is dropped.

    `combiner`: "set", a kind of `reduce`, or a function of (old.., new..). One Value in, one out.
    """
    xs = [x] if isinstance(x, Value) else list(x)
    news = [updates] if isinstance(updates, Value) else list(updates)
    numbers = mlir().stablehlo.ScatterDimensionNumbers.get(
        list(update_window_dims),
        list(inserted_window_dims),
        list(input_batching_dims),
        list(scatter_indices_batching_dims),
        list(scatter_dims_to_operand_dims),
        index_vector_dim,
    )
    op = mlir().stablehlo.ScatterOp(
        [tensor_type(x.shape, x.dtype) for x in xs],
        [x.ir for x in xs],
        indices.ir,
        [u.ir for u in news],
        numbers,
        indices_are_sorted=sorted,
        unique_indices=unique,
    )
    scalars = [((), x.dtype) for x in xs]
    fill_region(op.regions[0], scalars + scalars, _combiner(combiner))
    results = [Value(r, old.shape, old.dtype) for r, old in zip(op.results, xs, strict=True)]
    return results[0] if isinstance(x, Value) else results


def _combiner(
    combiner: str | Callable[..., Value | Sequence[Value]],
) -> Callable[..., Value | Sequence[Value]]:
    if not isinstance(combiner, str):
        return combiner
    if combiner == "set":
        return lambda *values: values[len(values) // 2 :]
    return lambda old, new: combine(combiner, old, new)
