"""Runs a program that PyTorch refuses on the CPU and on the device, and compares how.

Programs take a device and make their own tensors there: ``program("cpu")``, ``program("neuron")``.
"""

import re

import pytest
import torch

# What PyTorch itself calls a tensor or a device, and its plea for better messages.
_SPELLINGS = (
    (r"neuron(\w+)Type\b", r"torch.\1Tensor"),
    (r"neuron:\d", "cpu"),
    (r"\s+\(Could this error message be improved\?.*", ""),
    (r"\s+\(when [^()]*\)$", ""),
)


def values(device, *shape, dtype=torch.float32):
    """0, 1/8, 2/8, .. in `shape`."""
    count = torch.Size(shape).numel()
    return (torch.arange(count, dtype=torch.float32).reshape(shape) / 8).to(dtype).to(device)


def integers(device, *numbers, dtype=torch.int64):
    return torch.tensor(numbers, dtype=dtype).to(device)


def first_line(error):
    line = str(error).strip().splitlines()[0]
    for spelling, plain in _SPELLINGS:
        line = re.sub(spelling, plain, line)
    return line.strip()


def raised(program, device="neuron"):
    """What `program` raises; it must raise something."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the caller compares
        program(device)
    return caught.value


def readable(error):
    """No trace of C++: one sentence that a user can act on."""
    text = str(error)
    assert text.strip()
    for noise in ("Exception raised from", "INTERNAL ASSERT", "c10::Error", "frame #"):
        assert noise not in text
    return text


def refused(program):
    """The device raises the CPU's exception type with the CPU's first line."""
    want, got = raised(program, "cpu"), raised(program)
    assert type(got) is type(want), f"{got!r} instead of {want!r}"
    assert first_line(got) == first_line(want)
    readable(got)


def refused_in_other_words(program, text):
    """The CPU's exception type; a text of our own, where the CPU's needs what a device lacks."""
    want, got = raised(program, "cpu"), raised(program)
    assert type(got) is type(want), f"{got!r} instead of {want!r}"
    assert text in readable(got)
