"""Distances between rows, and gradients, agree with the CPU for every norm, equal rows too."""

import pytest
import torch
import torch.nn.functional as F
from agreement import agree

NORMS = [0.0, 1.0, 1.5, 2.0, 3.0, float("inf")]
X, Y = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
Y[0, 1] = X[0, 2]


def value_and_gradients(distance):
    def both(*rows):
        rows = [r.detach().requires_grad_() for r in rows]
        d = distance(*rows)
        slope = torch.linspace(-1, 1, d.numel(), device=d.device).view(d.shape)
        return d.detach(), *torch.autograd.grad(d, rows, slope)

    return both


@pytest.mark.parametrize("p", NORMS)
def test_between_two_matrices(p):
    agree(value_and_gradients(lambda x, y: torch.cdist(x, y, p)), X, Y)


@pytest.mark.parametrize("p", NORMS)
def test_within_a_matrix(p):
    agree(value_and_gradients(lambda x: F.pdist(x, p)), torch.cat([X[0], X[0, :1]]))


def test_many_rows():
    x, y = torch.randn(30, 4), torch.randn(28, 4)
    agree(value_and_gradients(torch.cdist), x, y, rtol=1e-4, atol=1e-4)


def test_no_rows_and_no_columns():
    agree(torch.cdist, torch.randn(0, 4), torch.randn(3, 4))
    agree(torch.cdist, torch.randn(3, 0), torch.randn(2, 0))
    agree(F.pdist, torch.randn(1, 3))


def test_composites():
    agree(value_and_gradients(F.pairwise_distance), X[0], Y[0, :3])
    agree(value_and_gradients(F.cosine_similarity), X[0], Y[0, :3])
