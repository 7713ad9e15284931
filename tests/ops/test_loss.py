"""Losses and their gradients agree with the CPU: reductions, weights, ignored and wrong targets."""

import pytest
import torch
import torch.nn.functional as F
from agreement import agree, compiling, refused

import torch_neuronx

A, B = torch.randn(4, 6), torch.randn(4, 6)
P, Q = torch.rand(4, 6), torch.rand(4, 6)
SIGN = torch.sign(B)

LOSSES = {
    "mse": (F.mse_loss, A, B, {}),
    "l1": (F.l1_loss, A, B, {}),
    "smooth_l1": (F.smooth_l1_loss, A, B, {"beta": 0.4}),
    "smooth_l1_sharp": (F.smooth_l1_loss, A, B, {"beta": 0.0}),
    "huber": (F.huber_loss, A, B, {"delta": 0.7}),
    "bce": (F.binary_cross_entropy, P, Q, {}),
    "bce_with_logits": (F.binary_cross_entropy_with_logits, A, Q, {}),
    "kl_div": (F.kl_div, A.log_softmax(-1), Q, {}),
    "soft_margin": (F.soft_margin_loss, A, SIGN, {}),
    "hinge_embedding": (F.hinge_embedding_loss, A, SIGN, {}),
    "poisson": (F.poisson_nll_loss, A, Q, {}),
}


def value_and_gradient(loss):
    def both(x, *rest):
        x = x.detach().requires_grad_()
        y = loss(x, *rest)
        return y.detach(), torch.autograd.grad(y.sum(), x)[0]

    return both


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", LOSSES)
def test_elementwise(name, reduction):
    loss, x, target, options = LOSSES[name]
    both = value_and_gradient(lambda x, t: loss(x, t, reduction=reduction, **options))
    agree(both, x, target)
    if name != "kl_div":
        agree(both, x.bfloat16(), target.bfloat16(), rtol=2**-6, atol=2**-6)


def test_weights_of_binary_cross_entropy():
    agree(value_and_gradient(F.binary_cross_entropy), P, Q, A)
    agree(
        value_and_gradient(
            lambda x, t, w, p: F.binary_cross_entropy_with_logits(x, t, w, pos_weight=p)
        ),
        A,
        Q,
        P,
        Q,
    )
    edge = torch.tensor([0.0, 1.0, 1.0])
    agree(F.binary_cross_entropy, edge, edge.flip(0))
    refused(F.binary_cross_entropy, 2 * edge, edge)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("shape", [(5, 7), (7,), (2, 7, 3, 2)], ids=str)
def test_negative_log_likelihood(shape, reduction, weighted):
    target = torch.randint(0, 7, (shape[:1] + shape[2:]) if len(shape) > 1 else ())
    weight = torch.rand(7) if weighted else None

    def loss(x, target, weight):
        return F.nll_loss(x, target, weight, reduction=reduction, ignore_index=3)

    agree(value_and_gradient(loss), torch.randn(shape), target, weight)
    bad = target.clone().fill_(9)
    refused(loss, torch.randn(shape), bad, weight)


@compiling(False)  # PyTorch's tracing takes no targets of bytes
def test_targets_of_other_dtypes():
    x, target = torch.randn(5, 7), torch.arange(5)
    agree(F.nll_loss, x, target.byte())
    refused(F.nll_loss, x, target.int())


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("p", [1, 2])
def test_multi_margin(p, reduction):
    def loss(x, target, weight):
        return F.multi_margin_loss(x, target, p, 0.7, weight, reduction=reduction)

    x, target = torch.randn(5, 7), torch.tensor([0, 6, 2, 2, 1])
    agree(value_and_gradient(loss), x, target, None)
    agree(value_and_gradient(loss), x, target, torch.rand(7))
    refused(loss, x, target + 5, None)


@compiling(False)  # PyTorch's decompositions take no input without a dimension
@pytest.mark.parametrize("loss", [F.multi_margin_loss, F.multilabel_margin_loss])
def test_margins_of_a_single_class(loss):
    with torch_neuronx.no_fallback():
        agree(value_and_gradient(loss), torch.tensor(0.3), torch.tensor(0))


@compiling(False)  # PyTorch's decomposition, which all backends of torch.compile get, is wrong
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_multilabel_margin(reduction):
    target = torch.tensor([[3, 0, -1, 5, 1], [-1, 0, 1, 2, 3], [4, 3, 2, 1, 0]])
    both = value_and_gradient(lambda x, t: F.multilabel_margin_loss(x, t, reduction=reduction))
    agree(both, torch.randn(3, 5), target.clamp(max=4))
    agree(both, torch.randn(5), target[2])
    refused(both, torch.randn(3, 5), target)


@pytest.mark.parametrize("lengths", [[4, 2, 1], [4, 0, 1], [0, 0, 0]], ids=str)
@pytest.mark.parametrize("zero_infinity", [False, True])
def test_ctc(lengths, zero_infinity):
    targets = torch.tensor([[1, 2, 3, 1], [2, 2, 0, 0], [4, 0, 0, 0]])

    def loss(x, targets):
        steps, sizes = torch.tensor([8, 2, 5]), torch.tensor(lengths)
        return F.ctc_loss(x, targets, steps, sizes, reduction="none", zero_infinity=zero_infinity)

    x = torch.randn(8, 3, 5).log_softmax(-1)
    agree(value_and_gradient(loss), x, targets, rtol=1e-4, atol=1e-5)


def test_ctc_of_concatenated_targets():
    def loss(x, targets):
        return F.ctc_loss(x, targets, (20, 15), (6, 4), blank=2)

    x = torch.randn(20, 2, 9).log_softmax(-1)
    targets = torch.tensor([1, 1, 3, 4, 8, 0, 5, 5, 6, 7])
    agree(value_and_gradient(loss), x, targets, rtol=1e-4, atol=1e-5)
