"""Nested tensors that the tests of this folder share: three items of 3, 1 and 4 rows."""

import torch

LENGTHS = (3, 1, 4)


def jagged(device, width=6, *, requires_grad=False):
    return _nested(device, width, torch.jagged, requires_grad)


def strided(device, width=6, *, requires_grad=False):
    return _nested(device, width, torch.strided, requires_grad)


def _nested(device, width, layout, requires_grad):
    generator = torch.Generator().manual_seed(0)
    items = [torch.randn(n, width, generator=generator) for n in LENGTHS]
    return torch.nested.nested_tensor(
        items, layout=layout, device=device, requires_grad=requires_grad
    )


def gradient(make, function):
    """Of the sum of squares of `function(x)`."""

    def run(device):
        x = make(device, requires_grad=True)
        result = function(x)
        if result.is_nested:
            result = result.to_padded_tensor(0.0)
        result.square().sum().backward()
        return x.grad

    return run
