"""Functions that bring their own derivatives or batching keep them on the device."""

import torch
from agreement import agree, random
from torch.func import grad, jacfwd, jacrev, jvp, vmap

X = random(3, 4)


class Cube(torch.autograd.Function):
    """In the form of torch.func: setup_context apart, a jvp, a vmap that PyTorch derives."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, cotangent):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * cotangent

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * tangent


class Doubled(torch.autograd.Function):
    """With a vmap of its own, which adds the number of lanes to show that it ran."""

    @staticmethod
    def forward(x):
        return 2 * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, cotangent):
        return 2 * cotangent

    @staticmethod
    def vmap(info, in_dims, x):
        return 2 * x + info.batch_size, in_dims[0]


@torch.library.custom_op("functests::scaled", mutates_args=())
def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
    return x * factor


@scaled.register_fake
def _(x, factor):
    return torch.empty_like(x)


@scaled.register_vmap
def _(info, in_dims, x, factor):
    return scaled(x, factor), in_dims[0]


def test_an_autograd_function():
    agree(vmap(grad(lambda x: Cube.apply(x).sum())), X)
    agree(lambda x: jvp(Cube.apply, (x,), (x.cos(),)), X)
    agree(jacfwd(Cube.apply), X[0])
    agree(jacrev(jacrev(Cube.apply)), X[0])


def test_an_autograd_function_with_a_vmap():
    agree(vmap(Doubled.apply, in_dims=1, out_dims=1), X)
    agree(grad(lambda x: vmap(Doubled.apply)(x).square().sum()), X)


def test_a_custom_op():
    agree(vmap(lambda x: scaled(x, 3.0)), X)
    agree(vmap(lambda x: scaled(x, 3.0), in_dims=1, out_dims=1), X)


def test_foreach_under_grad():
    def loss(x):
        parts = torch._foreach_mul(list(x.unbind()), 2.0)
        return sum(p.square().sum() for p in torch._foreach_sin(parts))

    agree(grad(loss), X)


def test_checkpointing_under_grad():
    from torch.utils.checkpoint import checkpoint

    def loss(x):
        return checkpoint(lambda y: y.sin().exp(), x, use_reentrant=False).sum()

    agree(lambda x: torch.autograd.grad(loss(y := x.clone().requires_grad_()), y), X)


def test_conditions_and_scans_under_vmap():
    def lane(x):
        return torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))

    agree(vmap(lane), X)
