"""Reported failures of numbers and dtypes (rows 37 to 59)."""

import math

import pytest
import torch
import torch.nn.functional as F
from agreement import agree_by_device as agree
from agreement import fastest_seconds, on, random

DEVICE = "neuron"


def masks():
    low = torch.finfo(torch.bfloat16).min
    causal = torch.full((6, 6), low, dtype=torch.bfloat16).triu(1)
    cast = torch.full((6, 6), torch.finfo(torch.float32).min).triu(1).to(torch.bfloat16)
    return {"bfloat16": causal, "cast": cast, "sum": causal + causal.roll(1, 1).tril()}


@pytest.mark.parametrize("name", ["bfloat16", "cast", "sum"])
def test_37_masks_near_the_smallest_number(name):
    mask = masks()[name]

    def program(device):
        q, k, v = (on(device, random(1, 2, 6, 8, dtype=torch.bfloat16, seed=s)) for s in range(3))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=on(device, mask))

    # Each side rounds its probabilities, at most 1, to bfloat16 before they weigh the values.
    out = agree(program, rtol=0.016, atol=0.008)
    unmasked = (mask == 0).any(-1)
    assert not out.cpu()[:, :, unmasked].isnan().any()


def encoder():
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 2)


def test_38_transformer_encoder_trains():
    x, padding = random(3, 5, 64), torch.tensor([[False] * 5, [False] * 4 + [True], [False] * 5])

    def program(device):
        model = encoder().to(device)
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
        causal = torch.nn.Transformer.generate_square_subsequent_mask(5).to(device)
        losses = []
        for _ in range(3):
            out = model(
                on(device, x), mask=causal, src_key_padding_mask=on(device, padding).float()
            )
            loss = out.square().mean() + out.mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return torch.stack(losses)

    assert agree(program, rtol=1e-3, atol=1e-3).isfinite().all()


def test_38_transformer_encoder_evaluates():
    x, padding = random(3, 5, 64), torch.tensor([[False] * 5, [False] * 4 + [True], [False] * 5])

    def program(device):
        model = encoder().to(device).eval()
        with torch.no_grad():
            plain = model(on(device, x))
            masked = model(on(device, x), src_key_padding_mask=on(device, padding))
        return plain, masked.masked_fill(on(device, padding)[..., None], 0)

    agree(program, rtol=1e-4, atol=1e-5)


def test_39_cross_entropy_under_autocast():
    labels = torch.randint(77, (16,), generator=torch.Generator().manual_seed(0))

    def program(device):
        linear = torch.nn.Linear(32, 77).to(device)
        target = on(device, labels)
        with torch.autocast(device, dtype=torch.bfloat16):
            logits = linear(on(device, random(16, 32)))
            loss = F.cross_entropy(logits, target)
        loss.backward()
        assert target.dtype is torch.int64
        assert logits.dtype is torch.bfloat16
        return loss.float(), linear.weight.grad

    agree(program, rtol=2e-2, atol=2e-3)


def test_40_reciprocal_of_integers():
    assert agree(lambda d: torch.tensor([2, 4], device=d).reciprocal()).tolist() == [0.5, 0.25]


@pytest.mark.parametrize("batch", [1, 3, 8])
def test_41_attention_of_a_detector(batch):
    heads, kd, hd, n = 2, 8, 16, 400
    x, weight = random(batch, 32, 20, 20), random(heads * (2 * kd + hd), 32, 1, 1, seed=1) / 8

    def program(device):
        qkv = F.conv2d(on(device, x), on(device, weight)).view(batch, heads, 2 * kd + hd, n)
        q, k, v = qkv.split([kd, kd, hd], dim=2)
        attn = ((q.transpose(-2, -1) @ k) * kd**-0.5).softmax(-1)
        return (v @ attn.transpose(-2, -1)).view(batch, heads * hd, 20, 20)

    agree(program, rtol=1e-4, atol=1e-4)


class TinyGPT(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(50, 32)
        self.norm = torch.nn.LayerNorm(32)
        self.qkv = torch.nn.Linear(32, 96)
        self.head = torch.nn.Linear(32, 50)

    def forward(self, ids):
        x = self.embed(ids)
        q, k, v = (
            p.unflatten(-1, (4, 8)).transpose(1, 2) for p in self.qkv(self.norm(x)).chunk(3, -1)
        )
        x = x + F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        return self.head(F.gelu(x, approximate="tanh"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_42_tiny_gpt(dtype):
    ids = torch.arange(20).view(2, 10)

    def program(device):
        torch.manual_seed(0)
        model = TinyGPT().to(dtype).to(device).eval()
        with torch.no_grad():
            return model(on(device, ids))

    tolerance = 1e-5 if dtype is torch.float32 else 4e-2  # a few roundings of values near 1
    assert agree(program, rtol=tolerance, atol=tolerance).isfinite().all()


def test_43_reading_the_loss_does_not_change_it():
    def losses(every):
        torch.manual_seed(0)
        model = torch.nn.Sequential(
            torch.nn.Linear(8, 16), torch.nn.Dropout(0.1), torch.nn.Linear(16, 1)
        )
        model.to(DEVICE)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        torch.manual_seed(1)
        seen = []
        for step in range(20):
            loss = model(on(DEVICE, random(4, 8, seed=step))).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % every == 0:
                loss.item()
            seen.append(loss.detach())
        return torch.stack(seen).cpu()

    assert torch.equal(losses(1), losses(10))


def test_44_gradients_of_attention_with_dropout():
    torch.manual_seed(3)
    q, k, v = (on(DEVICE, random(1, 2, 8, 4, seed=s)).requires_grad_() for s in range(3))
    eye = torch.eye(8, device=DEVICE).expand(1, 2, 8, 8)
    state = torch.neuron.get_rng_state()
    dropped = F.scaled_dot_product_attention(q, k, eye, dropout_p=0.5, is_causal=True)
    plain = F.scaled_dot_product_attention(q, k, eye, is_causal=True)
    mask = (dropped != 0).detach()  # which probabilities the seed keeps
    kept = mask.sum().item() / (plain != 0).sum().item()
    assert 0.2 < kept < 0.8
    torch.neuron.set_rng_state(state)
    out = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5, is_causal=True)
    grads = torch.autograd.grad(out.square().sum(), (q, k, v))
    scores = (q @ k.transpose(-2, -1) / 2).masked_fill(
        torch.ones(8, 8, dtype=torch.bool, device=DEVICE).triu(1), -math.inf
    )
    manual = (scores.softmax(-1) * mask / 0.5) @ v
    torch.testing.assert_close(out, manual, rtol=1e-5, atol=1e-5)
    for got, want in zip(grads, torch.autograd.grad(manual.square().sum(), (q, k, v)), strict=True):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("length", [256, 511, 513, 1000])
def test_45_causal_attention_of_odd_lengths(length):
    dim = 64 + length % 3 * 32

    def program(device):
        q, k, v = (on(device, random(1, 1, length, dim, seed=s)).requires_grad_() for s in range(3))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return out, *torch.autograd.grad(out.square().mean(), (q, k, v))

    agree(program, rtol=1e-4, atol=1e-5, strides=False)


def test_45_causal_attention_that_is_not_square():
    def program(device):
        q, k, v = (
            on(device, random(1, 2, 5, 8)),
            on(device, random(1, 2, 9, 8)),
            on(device, random(1, 2, 9, 8, seed=2)),
        )
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    agree(program, rtol=1e-5, atol=1e-5)


def test_45_long_backward_in_bfloat16_is_finite():
    q, k, v = (
        on(DEVICE, random(1, 1, 6144, 64, dtype=torch.bfloat16, seed=s)).requires_grad_()
        for s in range(3)
    )
    F.scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()
    assert all(t.grad.isfinite().all() for t in (q, k, v))


def test_46_random_numbers():
    state = torch.get_rng_state()
    assert torch.rand(16, device=DEVICE).unique().numel() > 12
    sample = torch.rand(100_000, device=DEVICE).double().sort().values.cpu()
    grid = torch.arange(1, 100_001, dtype=torch.float64) / 100_000
    # Kolmogorov-Smirnov: 1.95 / sqrt(n) is passed by chance in one of a thousand runs.
    assert (sample - grid).abs().max() < 1.95 / math.sqrt(100_000)
    assert torch.equal(torch.get_rng_state(), state)


def test_46_neighbouring_seeds_do_not_overlap():
    generator = torch.Generator(DEVICE)

    def prefix(seed):
        return tuple(torch.rand(100, device=DEVICE, generator=generator.manual_seed(seed)).tolist())

    seeds = range(100, 1100)
    seen = {seed: prefix(seed) for seed in range(90, 1111)}
    assert all(seen[s] not in (seen[s - 10], seen[s + 10]) for s in seeds)
    assert len(set(seen.values())) == len(seen)


def test_47_infinities_and_nan():
    def program(device):
        x = torch.tensor([torch.nan, -1, torch.inf], device=device)
        y = torch.tensor([torch.nan, -torch.inf, torch.inf, 0], device=device)
        return x.relu(), x.sign(), y.clamp(-1, 1), x.ceil(), torch.isneginf(y.half())

    relu, sign, clamp, *_ = agree(program)
    assert relu.tolist()[1:] == [0, torch.inf]
    assert sign.tolist()[0] == 0
    assert clamp.tolist()[1:] == [-1, 1, 0]


def test_48_division_by_zero():
    def program(device):
        return torch.tensor([1.0, -1.0, 0.0], device=device).floor_divide(0)

    agree(program)
    for divide in (torch.floor_divide, torch.remainder, torch.fmod):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            divide(torch.tensor([1, 2], device=DEVICE), 0).cpu()
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            divide(torch.tensor([1, 2], device=DEVICE), torch.tensor([1, 0], device=DEVICE))


def test_49_truncated_division_of_int16():
    def program(device):
        x = torch.tensor([-47], dtype=torch.int16, device=device)
        return torch.div(x, 47, rounding_mode="trunc")

    assert agree(program).tolist() == [-1]


def test_50_rounding():
    def program(device):
        x = torch.tensor([0.5, 1.5, 2.5, -0.5], device=device)
        return x.round(), x.div(1, rounding_mode="floor"), x.round().copysign(x)

    assert agree(program)[0].tolist() == [0, 2, 2, 0]


def test_51_negative_float_to_uint8():
    agree(lambda device: torch.tensor([-1.0, -2.5, 255.0, 3.7], device=device).to(torch.uint8))


def test_52_large_integers():
    def program(device):
        return (
            torch.tensor([1e10, -1.7, 2.9], dtype=torch.float64, device=device).to(torch.int64),
            torch.tensor([2**40 + 1], device=device) + 1,
            torch.tensor([2**31], device=device) * 4,
        )

    assert agree(program)[0].tolist() == [10_000_000_000, -1, 2]


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64])
def test_53_integer_matmul(dtype):
    def program(device):
        x = torch.arange(4, dtype=dtype, device=device).view(2, 2)
        return x @ x

    assert agree(program).tolist() == [[2, 3], [6, 11]]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_54_modules_change_dtype(dtype):
    embedding = torch.nn.Embedding(10, 3).to(DEVICE).to(dtype)
    assert embedding.weight.dtype is dtype
    assert embedding(torch.tensor([1], device=DEVICE)).dtype is dtype


def test_55_reductions_of_a_scalar():
    def program(device):
        x = torch.tensor(2.5, device=device)
        plain = [
            x.sum(),
            x.mean(),
            x.prod(),
            x.amax(),
            x.amin(),
            x.argmax(),
            x.norm(),
            x.logsumexp(0),
        ]
        return [
            *plain,
            x.log_softmax(0),
            x.softmax(0),
            *x.max(0),
            x.cumsum(0),
            x.std(correction=0),
            x.any(),
            x.all(),
        ]

    agree(program)


def test_56_linear_is_float32():
    agree(
        lambda d: F.linear(on(d, random(32, 64)), on(d, random(128, 64, seed=1))),
        rtol=1e-5,
        atol=1e-5,
    )


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_57_float8(dtype):
    def program(device):
        x = on(device, random(64, 64) * 100).to(dtype)
        return x.float(), x.float() @ x.float().t()

    agree(program, rtol=1e-5, atol=1e-2)


@pytest.mark.parametrize("size", [64, 512])
def test_57_scaled_mm(size):
    def program(device):
        a, b = (on(device, random(size, size, seed=s)).to(torch.float8_e4m3fn) for s in range(2))
        one = torch.ones((), device=device)
        return torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.float32)

    agree(program, rtol=1e-4, atol=1e-3)
    wide = on(DEVICE, random(size, size, dtype=torch.bfloat16))
    narrow, one = wide.to(torch.float8_e4m3fn), torch.ones((), device=DEVICE)
    scaled = fastest_seconds(lambda: torch._scaled_mm(narrow, narrow.t(), scale_a=one, scale_b=one))
    assert scaled < 100 * fastest_seconds(lambda: wide @ wide.t())


def test_58_unknown_dtype():
    with pytest.raises(NotImplementedError):
        torch.empty(2, dtype=torch.quint4x2, device=DEVICE).fill_(1)


def test_59_numpy_of_bfloat16():
    x = torch.ones(2, dtype=torch.bfloat16, device=DEVICE)
    with pytest.raises(TypeError):
        x.cpu().numpy()
    assert x.float().cpu().numpy().tolist() == [1, 1]
