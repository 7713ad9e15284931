"""Reading and writing through views: every recipe agrees with torch.as_strided on the host."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from interpret import evaluate

from torch_neuronx.lowering import hlo, recipe
from torch_neuronx.lowering.layout import box_of, levels_of, memory_order, physical_shape

VIEWS = settings(max_examples=150)


def as_read(storage, view, offset, nbytes=None):
    """`recipe.read` of `view` at a run-time `offset`."""
    nbytes = storage.numel() * storage.element_size() if nbytes is None else nbytes

    def build(base, start):
        return recipe.read(base, nbytes, at(view, start))

    return evaluate(build, storage, torch.tensor(offset))


def as_written(storage, view, offset, new):
    nbytes = storage.numel() * storage.element_size()

    def build(base, start, value):
        return recipe.write(base, nbytes, at(view, start), value)

    return evaluate(build, storage, torch.tensor(offset), new)


def at(view, start):
    return recipe.View(view.dtype, view.sizes, view.strides, start, view.box)


@st.composite
def indexed_views(draw):
    """A storage and a view made by slicing, transposing and inserting dimensions."""
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    base = torch.arange(torch.Size(shape).numel(), dtype=torch.int32).reshape(shape)
    view = base
    for d, n in enumerate(shape):
        start = draw(st.integers(0, n - 1))
        stop, step = draw(st.integers(start + 1, n)), draw(st.integers(1, 3))
        view = view[(slice(None),) * d + (slice(start, stop, step),)]
    view = view.permute(draw(st.permutations(range(view.dim()))))
    if draw(st.booleans()):
        view = view.unsqueeze(draw(st.integers(0, view.dim())))
    return base, view


@st.composite
def arbitrary_views(draw):
    """Any as_strided view that stays within its storage: overlapping, wrapping, repeating."""
    sizes = draw(st.lists(st.integers(1, 4), max_size=4))
    strides = [draw(st.integers(0, 9)) for _ in sizes]
    extent = 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    offset = draw(st.integers(0, 5))
    storage = torch.arange(extent + offset + draw(st.integers(0, 7)), dtype=torch.int32)
    return storage, storage.as_strided(sizes, strides, offset)


def spec(tensor, box=False):
    return recipe.View(tensor.dtype, tuple(tensor.shape), tensor.stride(), box=box)


@VIEWS
@given(indexed_views(), st.booleans())
def test_an_indexed_view_is_read_in_a_box_or_not(case, box):
    base, view = case
    assert torch.equal(as_read(base, spec(view, box), view.storage_offset()), view)


@VIEWS
@given(arbitrary_views())
def test_any_view_is_read(case):
    storage, view = case
    assert torch.equal(as_read(storage, spec(view), view.storage_offset()), view)


@VIEWS
@given(indexed_views(), st.booleans())
def test_writing_through_an_indexed_view_changes_its_elements_only(case, box):
    base, view = case
    new = torch.randint(-99, 0, view.shape, dtype=torch.int32)
    got = as_written(base, spec(view, box), view.storage_offset(), new)
    view.copy_(new)
    assert got.shape == base.shape
    assert torch.equal(got, base)


@VIEWS
@given(arbitrary_views())
def test_writing_through_any_view_without_overlap(case):
    storage, view = case
    if levels_of(view.shape, view.stride()) is None or 0 in view.stride():
        return
    new = torch.randint(-99, 0, view.shape, dtype=torch.int32)
    got = as_written(storage, spec(view), view.storage_offset(), new)
    view.copy_(new)
    assert torch.equal(got, storage)


@given(st.permutations(range(3)))
def test_writing_a_whole_storage_replaces_the_buffer_in_memory_order(order):
    target = torch.zeros(2, 3, 4).permute(order)
    new = torch.randn(target.shape)
    view = spec(target)
    got = evaluate(lambda b, v: recipe.write(b, 96, view, v), torch.zeros(24), new)
    assert got.shape == physical_shape(target.shape, target.stride()) == (2, 3, 4)
    target.copy_(new)
    assert torch.equal(got.reshape(-1), target.as_strided((24,), (1,)))


@given(
    st.sampled_from([torch.uint8, torch.int16, torch.float32, torch.float64, torch.complex64]),
    st.sampled_from([torch.uint8, torch.int16, torch.float32, torch.float64, torch.complex64]),
    st.integers(0, 2),
)
def test_a_view_of_another_dtype_reads_and_writes_the_same_bytes(stored, seen, start):
    storage = torch.randint(1, 99, (6, 8), dtype=torch.uint8).reshape(-1).view(stored)
    whole = storage.view(seen)
    view = whole[start : start + 2]
    assert torch.equal(as_read(storage, spec(view), start), view)
    new = torch.tensor([3, 5]).to(seen)
    got = as_written(storage, spec(view), start, new)
    view.copy_(new)
    assert torch.equal(got.view(torch.uint8), storage.view(torch.uint8))


def test_bytes_that_the_buffer_lacks_are_zero():
    storage = torch.tensor([1, 2, 3], dtype=torch.int32)
    view = recipe.View(torch.int32, (2, 2), (2, 1), box=True)
    assert as_read(storage, view, 1, nbytes=20).tolist() == [[2, 3], [0, 0]]


def test_a_storage_that_shrank_keeps_its_start():
    storage = torch.arange(6, dtype=torch.int32)
    view = recipe.View(torch.int32, (2,), (1,))
    assert as_read(storage, view, 1, nbytes=12).tolist() == [1, 2]


def test_a_write_after_a_resize_gives_the_whole_storage():
    def build(base, new):
        return recipe.write(base, 16, recipe.View(torch.int32, (2,), (1,), 0), new)

    got = evaluate(
        build, torch.arange(3, dtype=torch.int32), torch.tensor([7, 8], dtype=torch.int32)
    )
    assert got.tolist() == [7, 8, 2, 0]


def test_an_empty_view_reads_nothing_and_writes_nothing():
    storage = torch.arange(4, dtype=torch.int32)
    view = recipe.View(torch.int32, (0, 3), (3, 1))
    assert as_read(storage, view, 0).shape == (0, 3)
    new = torch.empty(0, 3, dtype=torch.int32)
    assert torch.equal(as_written(storage, view, 0, new), storage)


@given(arbitrary_views())
def test_as_strided_rules_read_and_write_static_offsets(case):
    storage, view = case
    sizes, strides, offset = tuple(view.shape), view.stride(), view.storage_offset()
    read = evaluate(lambda s: recipe.gather_strided(s, sizes, strides, offset), storage)
    assert torch.equal(read, view)
    if levels_of(sizes, strides) is None or 0 in strides:
        return
    new = -view.clone() - 1
    got = evaluate(lambda s, n: recipe.scatter_strided(s, n, strides, offset), storage, new)
    view.copy_(new)
    assert torch.equal(got, storage)


def test_a_row_is_a_slice_and_a_box_write_is_one_update():
    """The structure that keeps such reads and writes independent of the storage's size."""
    from torch_neuronx.lowering.module import Module

    module = Module("test")
    with module.build():
        base = module.input(("base", 0), (2, 3, 5, 4), torch.float32)
        start = module.input(("offset", 0), (), torch.int64)
        row = recipe.read(base, 480, recipe.View(torch.float32, (4,), (1,), start))
        window = recipe.View(torch.float32, (2, 3, 2, 4), (60, 20, 4, 1), start, box=True)
        written = recipe.write(base, 480, window, hlo.full((2, 3, 2, 4), 0, torch.float32))
        module.finish([row, written], {})
    text = module.text()
    assert text.count("stablehlo.dynamic_slice") == 1
    assert text.count("stablehlo.dynamic_update_slice") == 1
    assert "gather" not in text
    assert "scatter" not in text


def test_layout_names_the_order_and_the_box():
    assert memory_order((2, 3, 4), (12, 1, 3)) == [0, 2, 1]
    assert memory_order((2, 3), (4, 1)) is None
    assert physical_shape((1, 2, 3, 4), (24, 1, 8, 2)) == (1, 3, 4, 2)
    assert box_of(levels_of((2, 3), (60, 4)), 120) == (2, 15, 4)
    assert levels_of((3, 3), (1, 1)) is None
