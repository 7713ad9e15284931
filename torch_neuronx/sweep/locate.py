"""Where two runs of a model part: the first module whose result differs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from torch_neuronx.sweep.comparison import Tensors, difference, tensors, tolerance
from torch_neuronx.sweep.subject import Subject


def first_difference(cpu: Subject, device: Subject) -> str:
    """The name and class of the first module, in the order in which they return, whose result on
    the device is not the CPU's; empty where every module's is."""
    want, got = _results(cpu), _results(device)
    allowed = tolerance(cpu.model)
    for (name, kind, wanted), (_, _, given) in zip(want, got, strict=False):
        if difference(given, wanted, allowed):
            return f"{name or 'the model'} ({kind})"
    return ""


def _results(subject: Subject) -> list[tuple[str, str, Tensors]]:
    found: list[tuple[str, str, Tensors]] = []
    with _watching(subject, found), torch.no_grad(), contextlib.suppress(Exception):
        subject.forward()
    return found


@contextlib.contextmanager
def _watching(subject: Subject, found: list[tuple[str, str, Tensors]]) -> Iterator[None]:
    def hook(name: str):
        def keep(module, _, output):
            values = {n: t.detach().cpu().clone() for n, t in tensors(output).items()}
            found.append((name, type(module).__name__, values))

        return keep

    handles = [m.register_forward_hook(hook(n)) for n, m in subject.model.named_modules()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
