"""Compares a compiled function on the device with the same one run eagerly on the CPU."""

import torch
from agreement import on, same
from graphs import compiled
from torch.utils._pytree import tree_leaves

# For results, each element of which is a chain of at most some dozens of float32 operations.
CLOSE = {"rtol": 64 * torch.finfo(torch.float32).eps, "atol": 64 * torch.finfo(torch.float32).eps}


def run(function, device, inputs, gradient):
    """Its results and, with `gradient`, the gradients of a weighted sum of them."""
    leaves = [on(device, x) for x in inputs]
    if not gradient:
        return function(*leaves), []
    leaves = [x.requires_grad_(x.is_floating_point()) for x in leaves]
    results = function(*leaves)
    differentiable = [r for r in tree_leaves(results) if r.requires_grad]
    sum((r * r.detach().cos()).sum() for r in differentiable).backward()
    return results, [x.grad for x in leaves if x.requires_grad]


def agree_compiled(function, *inputs, gradient=False, tolerance=CLOSE, **options):
    """The same results, and gradients, without a graph break."""
    want = run(function, "cpu", inputs, gradient)
    got = run(compiled(function, fullgraph=True, **options), "neuron", inputs, gradient)
    same(got, want, **tolerance)
