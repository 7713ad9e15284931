"""What XLA:CPU does wrong unless it is told otherwise: every plugin must obey our options."""

import pytest
import torch


@pytest.mark.parametrize("rows", [1, 8, 64, 512])
def test_a_matmul_sees_weights_that_were_updated_in_place(rows):
    generator = torch.Generator().manual_seed(0)
    x, w = (torch.randn(n, 256, generator=generator) for n in (rows, 256))
    device_x, device_w = x.to("neuron"), w.to("neuron")
    for _ in range(3):
        w.mul_(1.5)
        device_w.mul_(1.5)
        torch.testing.assert_close((device_x @ device_w).cpu(), x @ w, rtol=1e-4, atol=1e-3)


def test_nan_wins_minima_and_maxima():
    x = torch.tensor([[1.0, torch.nan, 2.0], [3.0, 4.0, 5.0]])
    for reduce in (torch.amax, torch.amin):
        result = reduce(x.to("neuron"), 1).cpu()
        torch.testing.assert_close(result, reduce(x, 1), equal_nan=True)
