"""Search in sorted sequences, and membership. Histograms are in `histogram`.

One vectorised binary search (`lower_or_upper_bound`) serves searchsorted, bucketize and isin.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import flatten, take_flat
from torch_neuronx.lowering.elementwise import promoted
from torch_neuronx.lowering.indexing import vector
from torch_neuronx.lowering.ordering import sort_order, take_along
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten


def lower_or_upper_bound(sequence: Value, values: Value, right: bool) -> Value:
    """int64: the first position in the sorted last dimension of `sequence` not before (`right`:
    after) each value. `sequence` is 1-d, or has the leading dimensions of `values`.
    """
    size = sequence.shape[-1]
    base = hlo.full(values.shape, 0, torch.int64)
    if sequence.ndim > 1:
        rows = sequence.numel // max(size, 1)
        row = hlo.iota((rows, values.shape[-1]), 0, torch.int64)
        base = hlo.reshape(row * size, values.shape)
    low, high = hlo.full(values.shape, 0, torch.int64), hlo.full(values.shape, size, torch.int64)

    def step(count, low, high, base, values, flat):
        half = hlo.shr_logical(low + high, 1)
        found = take_flat(flat, hlo.min(base + half, max(sequence.numel - 1, 0)))
        # Written as CPU writes it, so that NaN goes the same way.
        beyond = ~hlo.compare(found, values, "GT" if right else "GE")
        open_ = low < high
        low, high = (
            hlo.select(open_ & beyond, half + 1, low),
            hlo.select(open_ & ~beyond, half, high),
        )
        return [count - 1, low, high, base, values, flat]

    steps = hlo.full((), size.bit_length(), torch.int64)
    state = [steps, low, high, base, values, flatten(sequence)]
    return hlo.while_(state, lambda count, *_: count > 0, step)[1]


def search(out, sequence, values, right, side=None, sorter=None) -> Value:
    """searchsorted's rule: dtypes promoted together, `sorter` applied, a scalar searched as one
    value.
    """
    dtype = promoted(sequence, values)
    sequence = sequence if sorter is None else take_along(sequence, sorter)
    sequence, values = hlo.convert(sequence, dtype), hlo.convert(values, dtype)
    found = lower_or_upper_bound(sequence, vector(values), right or side == "right")
    return hlo.reshape(hlo.convert(found, out.dtype), out.shape)


@lowers(aten.searchsorted.Tensor, runtime=())
def _searchsorted(out, sequence, x, *, out_int32=False, right=False, side=None, sorter=None):
    return search(out, sequence, x, right, side, sorter)


@lowers(aten.searchsorted.Scalar, runtime=("self",))
def _searchsorted_scalar(out, sequence, x, *, out_int32=False, right=False, side=None, sorter=None):
    return search(out, sequence, x, right, side, sorter)


@lowers(aten.bucketize.Tensor)
def _bucketize(out, x, boundaries, *, out_int32=False, right=False):
    return search(out, boundaries, x, right)


@lowers(aten.bucketize.Scalar, runtime=("self",))
def _bucketize_scalar(out, x, boundaries, *, out_int32=False, right=False):
    return search(out, boundaries, x, right)


# Up to so many candidates, comparing with each is quicker than sorting them.
_COMPARE_ALL = 64


def is_member(elements: Value, tests: Value, invert: bool) -> Value:
    dtype = promoted(elements, tests)
    elements, tests = hlo.convert(elements, dtype), flatten(hlo.convert(tests, dtype))
    if tests.numel <= _COMPARE_ALL:
        hits = hlo.expand_dims(elements, elements.ndim) == tests
        found = hlo.reduce(hits, [-1], "or")
    else:
        tests = take_along(tests, sort_order(tests, descending=False))
        place = lower_or_upper_bound(tests, elements, right=False)
        found = take_flat(tests, hlo.min(place, tests.numel - 1)) == elements
    return ~found if invert else found


@lowers(aten.isin.Tensor_Tensor)
def _isin(out, elements, test_elements, *, assume_unique=False, invert=False):
    return is_member(elements, test_elements, invert)


@lowers(aten.isin.Tensor_Scalar, runtime=("test_element",))
def _isin_scalar(out, elements, test_element, *, assume_unique=False, invert=False):
    return is_member(elements, hlo.number(test_element, promoted(elements, test_element)), invert)


@lowers(aten.isin.Scalar_Tensor, runtime=("element",))
def _isin_of_scalar(out, element, test_elements, *, assume_unique=False, invert=False):
    return is_member(hlo.number(element, promoted(element, test_elements)), test_elements, invert)
