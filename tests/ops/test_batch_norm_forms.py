"""Every form of batch norm updates the running statistics that it is given, on the device."""

import pytest
import torch
from agreement import agree

import torch_neuronx

aten = torch.ops.aten
X, WEIGHT = torch.randn(4, 3, 5), torch.rand(3)
MEAN, VARIANCE = torch.zeros(3), torch.ones(3)


@pytest.fixture(autouse=True)
def _native():
    with torch_neuronx.no_fallback():
        yield


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("op", [aten._native_batch_norm_legit.out, aten.native_batch_norm.out])
def test_into_given_tensors(op, training):
    def norm(x, w, mean, variance, out, save_mean, save_invstd):
        saved = {"save_mean": save_mean, "save_invstd": save_invstd}
        return op(x, w, w, mean, variance, training, 0.3, 1e-5, out=out, **saved)[0]

    agree(norm, X, WEIGHT, MEAN, VARIANCE, *(torch.zeros(s) for s in (X.shape, 3, 3)))


def test_into_given_tensors_without_statistics():
    def norm(x, out, save_mean, save_invstd):
        saved = {"save_mean": save_mean, "save_invstd": save_invstd}
        return aten.native_batch_norm.out(
            x, None, None, None, None, True, 0.3, 1e-5, out=out, **saved
        )

    agree(norm, X, *(torch.zeros(s) for s in (X.shape, 3, 3)))


def test_with_update():
    def norm(x, w, mean, variance):
        return aten._batch_norm_with_update(x, w, w, mean, variance, 0.3, 1e-5)

    agree(norm, X, WEIGHT, MEAN, VARIANCE)


@pytest.mark.parametrize("training", [True, False])
def test_compiled_of_sixteen_bits(training):
    """PyTorch's tracing has its statistics in float32."""

    def norm(x, w, mean, variance):
        y = aten._native_batch_norm_legit(x, w, w, mean, variance, training, 0.3, 1e-5)[0]
        return y, mean, variance

    args = [v.bfloat16() for v in (X, WEIGHT, MEAN, VARIANCE)]
    want = norm(*[v.clone() for v in args])
    got = torch.compile(norm, backend="neuron")(*[v.to("neuron") for v in args])
    # Normalized values are of the order of 1: an input and its mean round by eps of that each.
    bound = 2 * torch.finfo(torch.bfloat16).eps
    for g, w in zip(got, want, strict=True):
        torch.testing.assert_close(g.cpu(), w, rtol=bound, atol=bound)
