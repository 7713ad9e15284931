"""Fourier transforms agree with the CPU: dimensions, lengths, scalings, strides and gradients."""

import math

import pytest
import torch
from agreement import agree

X = torch.randn(3, 4, 6, 5)
Z = torch.complex(X, X.flip(0))


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("dims", [(3,), (1,), (0, 2), (0, 1, 2, 3)], ids=str)
def test_dimensions_and_scalings(dims, norm):
    fft = torch.fft
    # A transform of n numbers is log2(n) stages of sums, whose result is about sqrt(n) large.
    n = math.prod(X.shape[d] for d in dims)
    bound = {"rtol": 1e-5, "atol": 2**-23 * max(math.log2(n), 4) * math.sqrt(n)}
    agree(lambda x: fft.rfftn(x, dim=dims, norm=norm), X, **bound)
    agree(lambda z: fft.fftn(z, dim=dims, norm=norm), Z, **bound)
    agree(lambda z: fft.ifftn(z, dim=dims, norm=norm), Z, **bound)
    agree(lambda z: fft.irfftn(z, dim=dims, norm=norm), Z, **bound)


@pytest.mark.parametrize("n", [4, 5, 9, 16])
def test_lengths(n):
    agree(lambda x, z: [torch.fft.rfft(x, n), torch.fft.irfft(z, n), torch.fft.hfft(z, n)], X, Z)


def test_double_precision():
    agree(lambda x: torch.fft.fft2(x), X.double())


def test_gradients():
    def slopes(x, z):
        x, z = x.detach().requires_grad_(), z.detach().requires_grad_()
        loss = torch.fft.rfft(x).abs().sum() + torch.fft.irfft2(z).square().sum()
        return torch.autograd.grad(loss, (x, z))

    agree(slopes, X, Z, rtol=1e-4, atol=1e-5)


KINDS = {
    "fft": Z, "ifft": Z, "fft2": Z, "ifft2": Z, "fftn": Z, "ifftn": Z, "rfft": X, "irfft": Z,
    "rfft2": X, "irfft2": Z, "rfftn": X, "irfftn": Z, "hfft": Z, "ihfft": X, "hfft2": Z,
    "ihfft2": X, "hfftn": Z, "ihfftn": X,
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_and_its_gradient_in_double_precision(name):
    def transformed(x):
        x = x.detach().requires_grad_()
        result = getattr(torch.fft, name)(x)
        loss = (result.abs() * torch.arange(result.numel(), device=x.device).view_as(result)).sum()
        return result.detach(), torch.autograd.grad(loss, x)[0]

    agree(transformed, KINDS[name].to(torch.promote_types(KINDS[name].dtype, torch.float64)))


def test_short_time_transform_and_back():
    def there_and_back(x, window):
        spectrum = torch.stft(x, 8, 4, window=window, return_complex=True)
        return spectrum, torch.istft(spectrum, 8, 4, window=window)

    agree(there_and_back, torch.randn(2, 64), torch.hann_window(8), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["hann", "hamming", "bartlett", "blackman", "kaiser"])
def test_windows(name):
    window = getattr(torch, f"{name}_window")
    got = window(9, device="neuron")
    torch.testing.assert_close(got.cpu(), window(9), rtol=1e-5, atol=1e-6)
