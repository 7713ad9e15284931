"""A network of complex numbers trains as on the CPU."""

import torch
from agreement import on


def losses(device):
    """Of a filter in the frequency domain and a complex layer, fitted to a phase shift."""
    x = torch.randn(16, 32, generator=torch.Generator().manual_seed(0))
    weights = torch.randn(17, generator=torch.Generator().manual_seed(1)) / 4
    matrix = torch.randn(17, 17, generator=torch.Generator().manual_seed(2)) / 17
    shift = torch.nn.Parameter(on(device, torch.complex(weights, weights.flip(0))))
    mix = torch.nn.Parameter(on(device, torch.complex(matrix, matrix.t().contiguous())))
    x = on(device, x)
    target = torch.fft.rfft(x.roll(3, 1))
    optimizer = torch.optim.Adam([shift, mix], lr=0.05)
    found = []
    for _ in range(8):
        optimizer.zero_grad()
        spectrum = torch.fft.rfft(x) * shift
        guess = spectrum + (spectrum @ mix).tanh()
        loss = (guess - target).abs().square().mean() + torch.fft.irfft(guess).square().mean()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return torch.tensor(found), shift.detach().cpu(), mix.detach().cpu()


def test_a_complex_network_trains_as_on_the_cpu():
    want, got = losses("cpu"), losses("neuron")
    assert want[0][-1] < 0.75 * want[0][0]
    # Each step passes on the roundings of the last.
    for g, w in zip(got, want, strict=True):
        torch.testing.assert_close(g, w, rtol=1e-3, atol=1e-4)
