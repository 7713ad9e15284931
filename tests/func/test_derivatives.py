"""torch.func's derivatives are the CPU's, alone and nested, without a run on the host."""

import pytest
import torch
import torch.nn.functional as F
from agreement import agree, random
from torch import func

import torch_neuronx


def smooth(x):
    """Scalar of a vector, with every derivative and no zero among them."""
    return (x.sin() * x.exp()).sum() + x.square().prod()


def field(x):
    """Vector of a vector, through a matrix product, a reduction and a gather."""
    mixed = torch.outer(x, x.cos()) @ x
    return torch.cat([mixed.tanh(), x.softmax(0)[[2, 0]]])


def pair(x, y):
    return {"product": x * y, "sum": (x + y.square()).sum()}


X = random(4) / 2
Y = random(4, seed=1) / 2

TRANSFORMS = {
    "grad": lambda x: func.grad(smooth)(x),
    "grad_and_value": lambda x: func.grad_and_value(smooth)(x),
    "vjp": lambda x: func.vjp(field, x)[1](torch.ones_like(field(x))),
    "jvp": lambda x: func.jvp(field, (x,), (x.cos(),)),
    "linearize": lambda x: func.linearize(field, x)[1](x.cos()),
    "jacrev": lambda x: func.jacrev(field)(x),
    "jacrev in chunks": lambda x: func.jacrev(field, chunk_size=2)(x),
    "jacfwd": lambda x: func.jacfwd(field)(x),
    "hessian": lambda x: func.hessian(smooth)(x),
    "grad of grad": lambda x: func.grad(lambda y: func.grad(smooth)(y).square().sum())(x),
    "jacrev of jacrev": lambda x: func.jacrev(func.jacrev(field))(x),
    "jacfwd of jacfwd": lambda x: func.jacfwd(func.jacfwd(field))(x),
    "jacrev of jacfwd": lambda x: func.jacrev(func.jacfwd(field))(x),
    "vmap of grad": lambda x: func.vmap(func.grad(smooth))(torch.stack([x, x.cos()])),
    "grad of vmap": lambda x: func.grad(lambda y: func.vmap(smooth)(y.outer(y)).sum())(x),
    "vmap of jvp": lambda x: func.vmap(lambda t: func.jvp(field, (x,), (t,))[1])(torch.diag(x)),
    "jvp of grad": lambda x: func.jvp(func.grad(smooth), (x,), (x.cos(),)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_transform(name):
    with torch_neuronx.no_fallback():
        agree(TRANSFORMS[name], X, rtol=2e-5, atol=2e-5)


def test_derivatives_by_several_arguments_of_trees():
    with torch_neuronx.no_fallback():
        agree(func.jacrev(pair, argnums=(0, 1)), X, Y)
        agree(func.jacfwd(pair, argnums=(0, 1)), X, Y)


def test_auxiliary_results():
    def loss(x):
        hidden = x.tanh()
        return hidden.sum(), hidden

    agree(func.grad(loss, has_aux=True), X)
    agree(func.jacrev(lambda x: (field(x), x.exp()), has_aux=True), X)


def test_in_place_operations_inside():
    def loss(x):
        y = x.clone()
        y[1:].mul_(x[:3])
        y.add_(1.0).sigmoid_()
        return y.sum()

    for transform in (func.grad, func.jacfwd, func.hessian):
        agree(transform(loss), X)


def test_a_directional_derivative_of_a_network():
    weight, x = random(3, 4), random(2, 4, seed=1)

    def loss(w):
        hidden = F.gelu(F.layer_norm(F.linear(x.to(w.device), w), (3,)))
        return F.cross_entropy(hidden, torch.tensor([0, 2], device=w.device))

    agree(lambda w: func.jvp(loss, (w,), (w.cos(),)), weight, rtol=1e-5, atol=1e-5)
    agree(func.hessian(loss), weight, rtol=1e-5, atol=1e-5)


def test_the_autograd_functions_of_the_same_names():
    from torch.autograd import functional

    agree(lambda x: functional.jacobian(field, x, vectorize=True), X)
    agree(lambda x: functional.hessian(smooth, x), X, rtol=1e-5, atol=1e-5)
    agree(lambda x: functional.hvp(smooth, x, x.cos()), X, rtol=1e-5, atol=1e-5)


def test_functionalize():
    def program(x):
        y = x.clone()
        y[::2] += 1
        return y.view(2, 2).t()

    agree(func.functionalize(program), X)
