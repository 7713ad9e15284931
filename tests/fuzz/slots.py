"""What an operator of the grammar takes: each slot draws the text of one argument.

A slot is a function of the Builder. Tensor slots give the name of a tensor and append its value to
`builder.drawn`; the other slots look there for the shapes that they depend on. A slot that finds
nothing in the pool adds a factory statement, or raises Refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from .programs import FLOATS, INTEGERS, Builder, Refused

Slot = Callable[[Builder], str]
Test = Callable[[torch.Tensor], bool]

COMPLEX = (torch.complex64,)
FLOAT = FLOATS
INTEGER = INTEGERS
WHOLE = (*INTEGERS, torch.bool)
REAL = (*FLOATS, *INTEGERS)
NUMBER = (*REAL, *COMPLEX)
INEXACT = (*FLOATS, *COMPLEX)
ANY = (*NUMBER, torch.bool)


def tensor(dtypes: Sequence[torch.dtype] = ANY, dims: tuple[int, int] = (0, 5)) -> Slot:
    """One of the pool, the latest twice as often, or a new one."""

    def draw(builder: Builder) -> str:
        def fits(t: torch.Tensor) -> bool:
            return t.dtype in dtypes and dims[0] <= t.dim() <= dims[1]

        return _pick(builder, fits, dtypes, lambda shape: dims[0] <= len(shape) <= dims[1])

    return draw


def partner(dtypes: Sequence[torch.dtype] | None = ANY, of: int = 0) -> Slot:
    """A tensor that broadcasts with an earlier one; `dtypes` None: of its dtype."""

    def draw(builder: Builder) -> str:
        first = builder.drawn[of]
        allowed = (first.dtype,) if dtypes is None else dtypes

        def fits(t: torch.Tensor) -> bool:
            return t.dtype in allowed and _broadcasts(t.shape, first.shape)

        return _pick(builder, fits, allowed, lambda shape: _broadcasts(shape, first.shape))

    return draw


def alike(dtypes: Sequence[torch.dtype] | None = None, of: int = 0) -> Slot:
    """A tensor of the shape of an earlier one, and of its dtype unless `dtypes` are given."""

    def draw(builder: Builder) -> str:
        first = builder.drawn[of]
        allowed = (first.dtype,) if dtypes is None else dtypes

        def fits(t: torch.Tensor) -> bool:
            return t.dtype in allowed and t.shape == first.shape

        if builder.rng.random() < 0.5:
            return _named(builder, _new(builder, tuple(first.shape), allowed))
        return _pick(builder, fits, allowed, lambda shape: shape == tuple(first.shape))

    return draw


def of_shape(shape: Callable[[torch.Tensor], Sequence[int]], of: int = 0) -> Slot:
    """A new tensor, of the dtype of an earlier one and a shape that depends on it."""

    def draw(builder: Builder) -> str:
        first = builder.drawn[of]
        return _named(builder, builder.factory(tuple(shape(first)), first.dtype))

    return draw


def dim(of: int = 0) -> Slot:
    def draw(builder: Builder) -> str:
        n = max(builder.drawn[of].dim(), 1)
        return str(builder.rng.randint(-n, n - 1))

    return draw


def dims(of: int = 0) -> Slot:
    """Some of the dimensions, as a tuple."""

    def draw(builder: Builder) -> str:
        n = builder.drawn[of].dim()
        count = builder.rng.randint(1, n) if n else 0
        return str(tuple(sorted(builder.rng.sample(range(n), count))))

    return draw


def order(of: int = 0) -> Slot:
    """All of the dimensions in some order."""

    def draw(builder: Builder) -> str:
        n = builder.drawn[of].dim()
        return str(tuple(builder.rng.sample(range(n), n)))

    return draw


def indices(unique: bool = True, alike_to: int | None = None, along: int = 1) -> Slot:
    """Places along the dimension that text number `along` names, of the first tensor.

    A vector, or a tensor of the shape of the tensor numbered `alike_to`, whose lines along the
    dimension hold no place twice if `unique`.
    """

    def draw(builder: Builder) -> str:
        rng, first = builder.rng, builder.drawn[0]
        axis = int(builder.texts[along])
        size = first.size(axis) if first.dim() else 1
        if not size:
            raise Refused
        if alike_to is None:
            shape, axis = (rng.randint(1, min(size, 3) if unique else 3),), 0
        else:
            shape = tuple(builder.drawn[alike_to].shape)
        values = _places(rng, shape, axis, size, unique)
        left = iter(values.reshape(-1).tolist())
        name = builder.factory(shape, torch.int64, lambda: str(next(left)))
        return _named(builder, name)

    return draw


def masks(of: int = 0, same: bool = False) -> Slot:
    return alike((torch.bool,), of) if same else partner((torch.bool,), of)


def start_and_stop(of: int = 0) -> Slot:
    """A slice of the first dimension or of the last, as it is written in brackets."""

    def draw(builder: Builder) -> str:
        t, rng = builder.drawn[of], builder.rng
        if not t.dim():
            return "..."
        last = rng.random() < 0.5 and t.dim() > 1
        size = t.size(-1 if last else 0)
        choices = ["0"] if size else []
        choices += ["1:", ":-1", "::2", "None", "1:2"]
        return ("..., " if last else "") + rng.choice(choices)

    return draw


def sizes(of: int = 0) -> Slot:
    """A shape with as many elements."""

    def draw(builder: Builder) -> str:
        t = builder.drawn[of]
        n = t.numel()
        shapes = [(n,), (1, n), (n, 1)] + ([(-1,), (-1, 2), (2, -1)] if n and n % 2 == 0 else [])
        return str(builder.rng.choice(shapes))

    return draw


def expanded(of: int = 0) -> Slot:
    """A shape that the tensor expands to."""

    def draw(builder: Builder) -> str:
        shape = [2 if n == 1 and builder.rng.random() < 0.7 else n for n in builder.drawn[of].shape]
        return str(tuple([2] * builder.rng.randint(0, 1) + shape))

    return draw


def strided(of: int = 0) -> Slot:
    """Sizes, strides and offset within the tensor's storage."""

    def draw(builder: Builder) -> str:
        t, rng = builder.drawn[of], builder.rng
        held = t.untyped_storage().nbytes() // t.element_size()
        wanted = [rng.randint(1, 3) for _ in range(rng.randint(0, 3))]
        strides = [rng.randint(0, 3) for _ in wanted]
        reach = sum((n - 1) * s for n, s in zip(wanted, strides, strict=True))
        if reach >= held:
            raise Refused
        return f"{tuple(wanted)}, {tuple(strides)}, {rng.randint(0, held - 1 - reach)}"

    return draw


def number(whole: bool = False, positive: bool = False) -> Slot:
    """A Python number: true to promotion, a float only where `whole` is not asked for."""

    def draw(builder: Builder) -> str:
        if whole or builder.rng.random() < 0.4:
            return str(builder.rng.randint(1 if positive else -3, 4))
        value = builder.rng.choice((0.5, 1.5, 2.25, 0.3, 1e-3))
        return str(value if positive or builder.rng.random() < 0.7 else -value)

    return draw


def integer(low: int, high: int) -> Slot:
    return lambda builder: str(builder.rng.randint(low, high))


def choice(*texts: str) -> Slot:
    return lambda builder: builder.rng.choice(texts)


def flag() -> Slot:
    return choice("True", "False")


def again(text: int) -> Slot:
    """The argument drawn as number `text` once more."""
    return lambda builder: builder.texts[text]


def dtype(of: Sequence[torch.dtype] = ANY) -> Slot:
    """One of the program's dtypes, or another."""

    def draw(builder: Builder) -> str:
        ours = [d for d in builder.dtypes if d in of]
        return str(builder.rng.choice(ours if ours and builder.rng.random() < 0.5 else of))

    return draw


def _places(rng, shape: tuple[int, ...], axis: int, size: int, unique: bool) -> torch.Tensor:
    """Indices of `shape` below `size`, drawn line by line along `axis`."""
    if not shape:
        return torch.tensor(_line(rng, size, 1, unique)[0])
    moved = torch.empty(shape).movedim(axis, -1)
    count = moved.size(-1)
    lines = [_line(rng, size, count, unique) for _ in range(moved.numel() // max(count, 1))]
    return torch.tensor(lines, dtype=torch.long).reshape(moved.shape).movedim(-1, axis)


def _line(rng, size: int, count: int, unique: bool) -> list[int]:
    if not unique:
        return [rng.randrange(size) for _ in range(count)]
    if count > size:
        raise Refused
    return rng.sample(range(size), count)


def _broadcasts(one: Sequence[int], other: Sequence[int]) -> bool:
    pairs = zip(reversed(one), reversed(other), strict=False)
    return all(a == b or 1 in (a, b) for a, b in pairs)


def _pick(builder: Builder, fits: Test, dtypes, shape_fits) -> str:
    found = [n for n, t in builder.names.items() if isinstance(t, torch.Tensor) and fits(t)]
    if found and builder.rng.random() < 0.8:
        return _named(builder, builder.rng.choice([*found, *found[-2:]]))
    shapes = [shape for shape in builder.family if shape_fits(shape)]
    if not shapes:
        raise Refused
    return _named(builder, _new(builder, builder.rng.choice(shapes), dtypes))


def _new(builder: Builder, shape: tuple[int, ...], dtypes: Sequence[torch.dtype]) -> str:
    ours = [d for d in builder.dtypes if d in dtypes]
    if not ours or builder.rng.random() < 0.1:
        common = [d for d in (torch.float32, torch.int64, torch.bool) if d in dtypes]
        ours = common or list(dtypes)
    return builder.factory(shape, builder.rng.choice(ours))


def _named(builder: Builder, name: str) -> str:
    builder.drawn.append(builder.names[name])
    return name
