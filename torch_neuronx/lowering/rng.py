"""Counter-based random bits from the program's (seed, offset) input. Called by the random rules.

The bits are Philox's with the seed as key and the offset as counter, so they depend on nothing but
the two numbers: eager and compiled programs draw alike, on every platform.
"""

from __future__ import annotations

import math

import torch

from torch_neuronx.lowering import context, hlo, philox
from torch_neuronx.lowering.value import LoweringError, Value

_WIDTHS = (32, 64)
_FRACTION_BITS = {torch.float32: 24, torch.float64: 53}
_COUNTER_BITS = 128
_GRANULE = 4  # PyTorch keeps Philox offsets at multiples of four


def random_bits(shape: tuple[int, ...], width: int = 32) -> Value:
    """Uniform bits: uint32 (`width` 32) or uint64 (64). Each call draws fresh ones."""
    return bits_at(draw_state(shape, width), shape, width)


def draw_state(shape: tuple[int, ...], width: int = 32) -> Value:
    """The (seed, offset), uint64[2], that bits of this shape are drawn from; moves the offset."""
    now = state()
    context.current().rng_used += _counters(math.prod(shape), width)
    return now


def state() -> Value:
    """The (seed, offset), uint64[2], that the next bits will be drawn from."""
    program = context.current()
    start = program.rng_start
    return moved(program.module.rng_state() if start is None else start, program.rng_used)


def moved(state: Value, by: int) -> Value:
    """`state` with its offset `by` further."""
    if not by:
        return state
    return hlo.add(state, hlo.pad(hlo.full((1,), by, torch.uint64), 0, [1], [0]))


def bits_at(state: Value, shape: tuple[int, ...], width: int = 32) -> Value:
    """The bits that `random_bits` draws at `state`: the same ones whenever it is called."""
    if width not in _WIDTHS:
        raise LoweringError(f"random bits are 32 or 64 wide, not {width}")
    return philox.bits(state, tuple(shape), width)


def uniform(shape: tuple[int, ...], dtype: torch.dtype, state: Value | None = None) -> Value:
    """Uniform in [0, 1), each value a multiple of 2**-24 (float32) or 2**-53 (float64).

    With `state` (from `draw_state`) the numbers are those of that state, not fresh ones.
    """
    if dtype not in _FRACTION_BITS:
        raise LoweringError(f"uniform gives float32 or float64, not {dtype}")
    width, kept = 8 * dtype.itemsize, _FRACTION_BITS[dtype]
    bits = bits_at(draw_state(shape, width) if state is None else state, shape, width)
    return hlo.convert(hlo.shr_logical(bits, width - kept), dtype) * 2.0**-kept


def _counters(numel: int, width: int) -> int:
    used = -(-numel * width // _COUNTER_BITS)
    return -(-used // _GRANULE) * _GRANULE
