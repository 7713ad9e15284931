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
