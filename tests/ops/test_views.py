"""Views, their writes and gradients, and the ops that join, repeat and rearrange."""

import contextlib

import pytest
import torch
from agreement import agree, compiling, refused

import torch_neuronx

aten = torch.ops.aten


def numbers(*shape, dtype=torch.float32, seed=0):
    values = torch.randint(-40, 40, shape, generator=torch.Generator().manual_seed(seed))
    return (values / 8).to(dtype)


VIEWS = {
    "view": lambda x: x.view(20, 6),
    "expand": lambda x: x[:, :1].expand(2, 4, 5, 6),
    "permute": lambda x: x.permute(2, 0, 1),
    "t": lambda x: x[0].t(),
    "select": lambda x: x.select(1, -2),
    "slice_step": lambda x: x[:, 1::2],
    "slice_negative": lambda x: x[..., -3:-1],
    "slice_empty": lambda x: x[:, 4:2],
    "diagonal": lambda x: x.diagonal(-2, 1, 2),
    "unfold": lambda x: x.unfold(2, 3, 2),
    "unfold_apart": lambda x: x.unfold(2, 2, 3),
    "as_strided": lambda x: x.as_strided((3, 2), (2, 5), 3),
    "view_dtype": lambda x: x.view(torch.int32),
    "view_wider": lambda x: x.view(torch.float64),
    "view_as_complex": lambda x: torch.view_as_complex(x.view(4, 5, 3, 2)),
    "movedim": lambda x: x.movedim(0, -1),
    "unflatten": lambda x: x.unflatten(2, (2, 3)),
    "squeeze": lambda x: x[:1].squeeze(0).unsqueeze(-1),
    "split": lambda x: x.split(2, 1),
    "chunk": lambda x: x.chunk(4, 2),
    "tensor_split": lambda x: x.tensor_split(3, 1),
    "unbind": lambda x: x.unbind(-1),
}


@pytest.mark.parametrize("name", VIEWS)
def test_view_reads_and_writes(name):
    def read(x):
        view = VIEWS[name](x)
        return [v.clone() for v in view] if isinstance(view, (tuple, list)) else view.clone()

    def write(x):
        view = VIEWS[name](x)
        for part in view if isinstance(view, (tuple, list)) else [view]:
            part.zero_()

    agree(read, numbers(4, 5, 6))
    if name == "expand":
        return
    # PyTorch's functionalization, and so every backend of torch.compile, refuses a write to windows
    # that overlap, and takes a write to windows with gaps for one to all of the tensor.
    with compiling(False) if name.startswith("unfold") else contextlib.nullcontext():
        agree(write, numbers(4, 5, 6))


@pytest.mark.parametrize("name", [n for n in VIEWS if n not in ("view_dtype", "view_wider")])
def test_view_gradient(name):
    def gradient(x):
        x = x.detach().clone().requires_grad_()
        view = VIEWS[name](x)
        parts = view if isinstance(view, (tuple, list)) else [view]
        sum((p * p).sum().abs() for p in parts).backward()
        return x.grad

    agree(gradient, numbers(4, 5, 6))


def test_writes_as_functions():
    x = numbers(4, 5, 6)
    agree(lambda x, s: x.select_scatter(s, 1, -1), x, numbers(4, 6))
    agree(lambda x, s: x.slice_scatter(s, 2, 1, 6, 2), x, numbers(4, 5, 3))
    agree(lambda x, s: x.slice_scatter(s, 1, 1, 3), x, numbers(4, 2, 6))
    agree(lambda x, s: x.diagonal_scatter(s, 1, 0, 2), x, numbers(5, 4))
    agree(lambda x, s: x.as_strided_scatter(s, (3, 2), (2, 5), 3), x, numbers(3, 2))
    agree(lambda x: torch.diag_embed(x, 1, 0, 2), x)


@pytest.mark.parametrize(
    "part",
    [
        lambda x: x[1],
        lambda x: x[:, 1:4:2],
        lambda x: x.transpose(0, 2),
        lambda x: x[:2],
        lambda x: x[:0],
    ],
    ids=["row", "gaps", "transposed", "beginning", "empty"],
)
def test_places_are_those_of_the_storage(part):
    x = numbers(4, 5, 6)
    agree(lambda x: torch.as_strided_copy(part(x), (3, 2), (7, 3), 2), x)
    agree(lambda x, s: part(x).as_strided_scatter(s, (3, 2), (2, 1), 1), x[:3], numbers(3, 2))


def test_join():
    x = numbers(4, 5, 6)
    agree(lambda x: torch.cat([x, torch.ones(0, device=x.device), x.long()], 1), x)
    agree(lambda x: torch.cat([x[:0], x[:2]]), x)
    agree(lambda x: torch.stack([x, x + 1], -1), x)
    agree(lambda x: aten._chunk_cat([x[0], x[:, 0]], 0, 3), x)
    agree(lambda x: torch.block_diag(x[0], x[1, :2]), x)
    agree(lambda x: torch.kron(x[0], x[1, :2]), x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.int64])
def test_rearrange(dtype):
    x = numbers(4, 5, 6, dtype=dtype)
    agree(lambda x: x.flip(0, -1), x)
    agree(lambda x: x.roll((3, -7), (0, 2)), x)
    agree(lambda x: x.roll(17), x)
    agree(lambda x: x.rot90(1, (0, 2)), x)
    agree(lambda x: x.repeat(2, 1, 3, 2), x)
    agree(lambda x: x.tile(2, 2), x)
    agree(lambda x: x.repeat_interleave(3, 1), x)
    agree(lambda x, n: x.repeat_interleave(n, 0), x, torch.tensor([2, 0, 1, 3]))


@pytest.mark.parametrize("shape", [(1, 1), (3, 257, 65), (2, 2, 5, 7)])
@pytest.mark.parametrize("offset", [-3, 0, 3])
def test_triangles(shape, offset):
    agree(lambda x: (x.tril(offset), x.triu(offset)), numbers(*shape))


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_padding_and_its_gradient(mode, dims):
    x = numbers(2, 3, *[5, 6, 7][:dims])
    padding = [2, 1, 0, 3, 1, 2][: 2 * dims]

    def padded(x):
        x = x.detach().clone().requires_grad_()
        result = torch.nn.functional.pad(x, padding, mode)
        (result * result).sum().backward()
        return result.detach(), x.grad

    agree(padded, x)


def test_constant_pad_cuts_and_keeps_dtype():
    agree(lambda x: torch.constant_pad_nd(x, [1, -2, 0, 3], 2.5), numbers(4, 5, 6))
    agree(lambda x: torch.constant_pad_nd(x, [-1, 2], 3), numbers(4, 5, dtype=torch.int32))


def test_shuffles():
    x = numbers(2, 8, 4, 6)
    agree(lambda x: torch.pixel_shuffle(x, 2), x)
    agree(lambda x: torch.pixel_unshuffle(x, 2), x)
    agree(lambda x: torch.channel_shuffle(x, 4), x)


@pytest.mark.parametrize(
    ("kernel", "dilation", "padding", "stride"), [(3, 1, 1, 2), ((2, 3), (2, 1), (0, 1), (1, 2))]
)
def test_unfold_and_fold(kernel, dilation, padding, stride):
    def there_and_back(x):
        columns = torch.nn.functional.unfold(x, kernel, dilation, padding, stride)
        return columns, torch.nn.functional.fold(
            columns, x.shape[-2:], kernel, dilation, padding, stride
        )

    agree(there_and_back, numbers(2, 3, 8, 7))
    agree(there_and_back, numbers(3, 8, 7))


def test_many_overlapping_windows():
    """More places in a window than are added one by one."""

    def gradient(x):
        x = x.detach().clone().requires_grad_()
        (x.unfold(0, 40, 3) * 2).sum().backward()
        return x.grad

    agree(gradient, numbers(160))


@pytest.mark.parametrize("n", [4, 400])
def test_as_strided_scatter_out_of_the_storage_is_refused(n):
    args = (torch.ones(n, n), torch.zeros(2, 2))
    refused(lambda x, y: x.as_strided_scatter(y, (2, 2), (n * n, 1), n), *args)


def test_repeat_interleave_refuses_a_wrong_size():
    repeats = torch.tensor([2, 1])
    refused(lambda r: aten.repeat_interleave.Tensor(r, output_size=5), repeats)
    refused(lambda r: aten.repeat_interleave.Tensor(r, output_size=3), repeats[None])


def test_repeat_interleave_of_a_given_size():
    repeats = torch.tensor([0, 2, 1, 3])
    with torch_neuronx.no_fallback():
        agree(lambda r: aten.repeat_interleave.Tensor(r, output_size=6), repeats)
        agree(lambda x, r: x.repeat_interleave(r, 0, output_size=6), numbers(4, 2), repeats)
