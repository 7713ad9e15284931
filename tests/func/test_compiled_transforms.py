"""Transforms inside a compiled function are the CPU's eager ones."""

import pytest
import torch.nn.functional as F
from agreement import agree, compiling, random
from torch.func import grad, hessian, jacrev, jvp, vmap

X, W = random(3, 4), random(4, 4, seed=1)


def energy(w, x):
    return F.layer_norm(F.gelu(x @ w), (4,)).square().sum() + (x @ w).exp().sum()


PROGRAMS = {
    "per-sample gradients": lambda w, x: vmap(grad(energy), in_dims=(None, 0))(w, x),
    "jacobian": lambda w, x: jacrev(lambda v: (v @ w).tanh())(x[0]),
    "hessian": lambda w, x: hessian(lambda v: energy(w, v))(x[0]),
    "forward": lambda w, x: jvp(energy, (w, x), (w, x)),
    "vmap of writes": lambda w, x: vmap(lambda r: r.clone().add_(1).mul_(r))(x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_transform(name):
    with compiling():
        agree(PROGRAMS[name], W, X, rtol=1e-4, atol=1e-4)
