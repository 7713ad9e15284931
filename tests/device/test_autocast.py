"""Autocast: the dtype that each kind of op gets, as on CUDA."""

import pytest
import torch
import torch.nn.functional as F


@pytest.fixture(scope="module")
def x():
    return torch.linspace(-1, 1, 16).view(4, 4).to("neuron")


def test_the_default_is_bfloat16(x):
    assert torch.get_autocast_dtype("neuron") == torch.bfloat16
    with torch.autocast("neuron"):
        assert (x @ x).dtype == F.linear(x, x).dtype == torch.bfloat16
        assert torch.is_autocast_enabled("neuron")
    assert (x @ x).dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_every_accepted_dtype(x, dtype):
    with torch.autocast("neuron", dtype):
        assert torch.mm(x, x).dtype == dtype
    with torch.neuron.amp.autocast(dtype=dtype):
        assert torch.mm(x.half(), x.half()).dtype == dtype
    assert dtype in torch.neuron.get_amp_supported_dtype()


def test_other_dtypes_disable_autocast_with_a_warning(x):
    with (
        pytest.warns(UserWarning, match="only supports dtypes"),
        torch.autocast("neuron", torch.float64),
    ):
        assert (x @ x).dtype == torch.float32


def test_ops_that_run_in_float32(x):
    low = x.bfloat16()
    with torch.autocast("neuron"):
        assert low.exp().dtype == torch.float32
        assert F.softmax(low, -1).dtype == low.sum().dtype == torch.float32
        assert F.layer_norm(low, (4,)).dtype == F.mse_loss(low, low).dtype == torch.float32
        assert torch.norm(low).dtype == torch.float32


def test_ops_that_promote_and_ops_that_do_nothing(x):
    with torch.autocast("neuron"):
        assert torch.atan2(x.bfloat16(), x).dtype == torch.float32
        assert (x.bfloat16() + x.bfloat16()).dtype == torch.bfloat16
        assert (x + x).dtype == torch.float32


def test_labels_stay_integers(x):
    labels = torch.tensor([0, 1, 2, 3]).to("neuron")
    with torch.autocast("neuron"):
        loss = F.cross_entropy(x @ x, labels)
    assert loss.dtype == torch.float32
    assert labels.dtype == torch.int64


def test_gradients_come_back_in_the_parameters_dtype(x):
    weight = x.clone().requires_grad_()
    with torch.autocast("neuron"):
        loss = (x @ weight).float().sum()
    loss.backward()
    assert weight.grad.dtype == torch.float32


def test_binary_cross_entropy_is_refused(x):
    with torch.autocast("neuron"), pytest.raises(RuntimeError, match="unsafe to autocast"):
        F.binary_cross_entropy(x.sigmoid(), x.sigmoid())


def test_custom_functions_follow_autocast(x):
    class Square(torch.autograd.Function):
        @staticmethod
        @torch.neuron.amp.custom_fwd(cast_inputs=torch.bfloat16)
        def forward(ctx, value):
            return value * value

        @staticmethod
        @torch.neuron.amp.custom_bwd
        def backward(ctx, grad):
            return grad

    with torch.autocast("neuron"):
        assert Square.apply(x).dtype == torch.bfloat16


def test_bf16_is_supported():
    assert torch.neuron.is_bf16_supported()
    assert torch.neuron.amp.GradScaler().is_enabled()
