"""Shapes that do not go together, and sizes that make no sense."""

import pytest
import torch
import torch.nn.functional as F
from refusal import integers, raised, readable, refused, refused_in_other_words, values


def v(device, *shape):
    return values(device, *shape)


PRODUCTS = {
    "mm": lambda d: v(d, 3, 4) @ v(d, 3, 4),
    "mm_1d": lambda d: torch.mm(v(d, 3), v(d, 3, 4)),
    "bmm_batch": lambda d: torch.bmm(v(d, 2, 3, 4), v(d, 3, 4, 5)),
    "bmm_inner": lambda d: torch.bmm(v(d, 2, 3, 4), v(d, 2, 3, 5)),
    "matmul_batch": lambda d: torch.matmul(v(d, 2, 3, 4), v(d, 3, 4, 5)),
    "addmm": lambda d: torch.addmm(v(d, 7), v(d, 3, 4), v(d, 4, 5)),
    "baddbmm": lambda d: torch.baddbmm(v(d, 7), v(d, 2, 3, 4), v(d, 2, 4, 5)),
    "mv": lambda d: torch.mv(v(d, 3, 4), v(d, 3)),
    "dot": lambda d: torch.dot(v(d, 3), v(d, 4)),
    "dot_2d": lambda d: torch.dot(v(d, 3, 3), v(d, 4)),
    "addr": lambda d: torch.addr(v(d, 3, 4), v(d, 4), v(d, 4)),
    "linear": lambda d: F.linear(v(d, 3, 4), v(d, 3, 5)),
    "linear_bias": lambda d: F.linear(v(d, 3, 4), v(d, 5, 4), v(d, 6)),
    "einsum": lambda d: torch.einsum("ij,jk->ik", v(d, 3, 4), v(d, 3, 4)),
    "attention": lambda d: F.scaled_dot_product_attention(
        v(d, 1, 2, 3, 4), v(d, 1, 2, 3, 5), v(d, 1, 2, 3, 4)
    ),
    "attention_mask": lambda d: F.scaled_dot_product_attention(
        v(d, 1, 2, 3, 4), v(d, 1, 2, 3, 4), v(d, 1, 2, 3, 4), attn_mask=v(d, 7, 7)
    ),
    "cdist": lambda d: torch.cdist(v(d, 3, 4), v(d, 3, 5)),
    "cholesky": lambda d: torch.linalg.cholesky(v(d, 3, 4)),
    "inverse": lambda d: torch.linalg.inv(v(d, 3, 4)),
}
POINTWISE = {
    "add": lambda d: v(d, 3, 4) + v(d, 3),
    "add_": lambda d: v(d, 3).add_(v(d, 3, 4)),
    "add_grows": lambda d: v(d, 1, 4).add_(v(d, 3, 4)),
    "copy_": lambda d: v(d, 3, 4).copy_(v(d, 3)),
    "copy_grows": lambda d: v(d, 3).copy_(v(d, 2, 3)),
    "copy_from_host": lambda d: v(d, 3, 4).copy_(v("cpu", 3)),
    "copy_from_host_grows": lambda d: v(d, 3).copy_(v("cpu", 2, 3)),
    "copy_to_host": lambda d: v("cpu", 3, 4).copy_(v(d, 3)),
    "where": lambda d: torch.where(v(d, 3) > 1, v(d, 4), v(d, 4)),
    "masked_fill": lambda d: v(d, 3, 4).masked_fill(v(d, 3) > 0, 1.0),
    "masked_fill_": lambda d: v(d, 3).masked_fill_(v(d, 2, 3) > 0, 1.0),
    "masked_select": lambda d: v(d, 3, 4).masked_select(v(d, 3) > 0),
    "lerp": lambda d: torch.lerp(v(d, 3), v(d, 4), 0.5),
    "addcmul": lambda d: torch.addcmul(v(d, 3), v(d, 4), v(d, 4)),
    "clamp": lambda d: torch.clamp(v(d, 3), v(d, 4)),
    "foreach": lambda d: torch._foreach_add([v(d, 3), v(d, 4)], [v(d, 3), v(d, 3)]),
    "foreach_lengths": lambda d: torch._foreach_add([v(d, 3), v(d, 4)], [v(d, 3)]),
    "foreach_scalars": lambda d: torch._foreach_add([v(d, 3)], [1.0, 2.0]),
    "foreach_empty": lambda d: torch._foreach_add([], []),
}
INDEXING = {
    "mask": lambda d: v(d, 3, 4)[v(d, 2, 4) > 0],
    "mask_rows": lambda d: v(d, 3, 4)[v(d, 2) > 0],
    "broadcast": lambda d: v(d, 3, 4)[integers(d, 0, 1), integers(d, 0, 1, 2)],
    "too_many": lambda d: v(d, 3)[integers(d, 0), integers(d, 0)],
    "index_put": lambda d: v(d, 3, 4).index_put_((integers(d, 0, 1),), v(d, 3)),
    "gather": lambda d: v(d, 3, 4).gather(0, integers(d, [0, 0, 0, 0, 0])),
    "gather_1d": lambda d: v(d, 3, 4).gather(0, integers(d, 0)),
    "scatter": lambda d: v(d, 3, 4).scatter(0, integers(d, [0, 1]), v(d, 1, 1)),
    "scatter_1d": lambda d: v(d, 3, 4).scatter(0, integers(d, 0), v(d, 1, 1)),
    "index_add": lambda d: v(d, 3, 4).index_add(0, integers(d, 0, 1), v(d, 3, 4)),
    "index_add_rows": lambda d: v(d, 3, 4).index_add(0, integers(d, 0, 1), v(d, 2, 3)),
    "index_copy": lambda d: v(d, 3, 4).index_copy(0, integers(d, 0, 1), v(d, 3, 4)),
    "index_select": lambda d: v(d, 3, 4).index_select(0, integers(d, [0, 1])),
    "embedding_weight": lambda d: F.embedding(integers(d, 0), v(d, 3)),
}
VIEWS = {
    "view": lambda d: v(d, 3, 4).view(5, 2),
    "view_infer": lambda d: v(d, 3, 4).view(-1, 5),
    "view_strides": lambda d: v(d, 3, 4).t().view(12),
    "view_dtype": lambda d: v(d, 3, 3).view(torch.float64),
    "reshape": lambda d: v(d, 3, 4).reshape(5, 2),
    "expand": lambda d: v(d, 3, 4).expand(2, 4),
    "expand_few": lambda d: v(d, 3, 4).expand(4),
    "permute": lambda d: v(d, 3, 4).permute(0, 0),
    "split": lambda d: v(d, 3, 4).split([1, 1]),
    "chunk": lambda d: v(d, 3, 4).chunk(0),
    "unfold": lambda d: v(d, 3).unfold(0, 5, 1),
    "as_strided": lambda d: v(d, 3).as_strided((5,), (1,)),
    "as_strided_negative": lambda d: v(d, 3).as_strided((2,), (-1,)),
    "slice_step": lambda d: v(d, 3)[::-1],
    "cat": lambda d: torch.cat([v(d, 3, 4), v(d, 3, 5)], 0),
    "cat_ranks": lambda d: torch.cat([v(d, 3, 4), v(d, 3)], 0),
    "cat_nothing": lambda d: torch.cat([], 0),
    "cat_0d": lambda d: torch.cat([v(d), v(d)], 0),
    "stack": lambda d: torch.stack([v(d, 3, 4), v(d, 3, 5)]),
    "repeat": lambda d: v(d, 3, 4).repeat(2),
    "set_": lambda d: v(d, 3).set_(v(d, 3).untyped_storage(), -2, (3,), (1,)),
    "index_0d": lambda d: v(d)[0],
    "iterate_0d": lambda d: list(v(d)),
    "item": lambda d: v(d, 3).item(),
    "truth": lambda d: bool(v(d, 3)),
}
LAYERS = {
    "conv_channels": lambda d: F.conv2d(v(d, 1, 3, 5, 5), v(d, 4, 2, 3, 3)),
    "conv_kernel": lambda d: F.conv2d(v(d, 1, 3, 2, 2), v(d, 4, 3, 3, 3)),
    "conv_bias": lambda d: F.conv2d(v(d, 1, 3, 5, 5), v(d, 4, 3, 3, 3), v(d, 5)),
    "conv_groups": lambda d: F.conv2d(v(d, 1, 3, 5, 5), v(d, 4, 3, 3, 3), groups=2),
    "conv_stride": lambda d: F.conv2d(v(d, 1, 3, 5, 5), v(d, 4, 3, 3, 3), stride=0),
    "conv_transpose": lambda d: F.conv_transpose2d(v(d, 1, 3, 5, 5), v(d, 4, 3, 3, 3)),
    "max_pool": lambda d: F.max_pool2d(v(d, 1, 1, 2, 2), 3),
    "max_pool_padding": lambda d: F.max_pool2d(v(d, 1, 1, 4, 4), 2, padding=2),
    "avg_pool": lambda d: F.avg_pool2d(v(d, 1, 1, 2, 2), 3),
    "adaptive_pool_1d": lambda d: F.adaptive_avg_pool1d(v(d, 3, 0), 2),
    "adaptive_pool_2d": lambda d: F.adaptive_avg_pool2d(v(d, 2, 3, 4, 0), 2),
    "adaptive_pool_3d": lambda d: F.adaptive_avg_pool3d(v(d, 3, 4, 0, 4), 2),
    "adaptive_pool_3d_channels": lambda d: F.adaptive_avg_pool3d(v(d, 2, 0, 4, 4, 4), 2),
    "reflect": lambda d: F.pad(v(d, 1, 3), (3, 3), mode="reflect"),
    "circular": lambda d: F.pad(v(d, 1, 3), (4, 4), mode="circular"),
    "pad_away": lambda d: F.pad(v(d, 3), (-2, -2)),
    "layer_norm": lambda d: F.layer_norm(v(d, 3, 4), (3,)),
    "layer_norm_weight": lambda d: F.layer_norm(v(d, 3, 4), (4,), v(d, 3)),
    "batch_norm": lambda d: F.batch_norm(v(d, 2, 4), v(d, 3), v(d, 3), training=True),
    "batch_norm_of_one": lambda d: F.batch_norm(v(d, 1, 4), None, None, training=True),
    "group_norm": lambda d: F.group_norm(v(d, 2, 4), 3),
    "rms_norm": lambda d: F.rms_norm(v(d, 3, 4), (3,)),
    "mse": lambda d: F.mse_loss(v(d, 3), v(d, 4)),
    "bce": lambda d: F.binary_cross_entropy(v(d, 3).sigmoid(), v(d, 4)),
    "bce_logits": lambda d: F.binary_cross_entropy_with_logits(v(d, 3), v(d, 4)),
    "nll": lambda d: F.nll_loss(v(d, 2, 4), integers(d, 0)),
    "nll_weight": lambda d: F.nll_loss(v(d, 2, 4), integers(d, 0, 1), v(d, 3)),
    "cross_entropy": lambda d: F.cross_entropy(v(d, 2, 4), v(d, 2, 3)),
    "lstm": lambda d: torch.nn.LSTM(4, 5).to(d)(v(d, 2, 3, 3)),
    "gru_state": lambda d: torch.nn.GRU(4, 5).to(d)(v(d, 2, 3, 4), v(d, 1, 2, 5)),
    "interpolate": lambda d: F.interpolate(v(d, 1, 1, 4), size=(2, 2)),
    "pixel_shuffle": lambda d: F.pixel_shuffle(v(d, 1, 3, 2, 2), 2),
    "prelu": lambda d: F.prelu(v(d, 2, 3), v(d, 4)),
    "glu": lambda d: F.glu(v(d, 3)),
}
EMPTY = {
    "max": lambda d: v(d, 0).max(),
    "max_dim": lambda d: v(d, 0, 4).max(0),
    "argmax": lambda d: v(d, 0).argmax(),
    "argmin_dim": lambda d: v(d, 3, 0).argmin(1),
    "amax_dim": lambda d: v(d, 3, 0).amax(1),
    "aminmax": lambda d: v(d, 0).aminmax(),
    "median_dim": lambda d: v(d, 3, 0).median(1),
    "mode_dim": lambda d: v(d, 3, 0).mode(1),
    "kthvalue": lambda d: v(d, 3, 0).kthvalue(1),
    "item": lambda d: v(d, 0).item(),
}
SIZES = {
    "zeros": lambda d: torch.zeros(-1, device=d),
    "empty": lambda d: torch.empty(-1, device=d),
    "empty_strided": lambda d: torch.empty_strided((3,), (-1,), device=d),
    "eye": lambda d: torch.eye(-1, device=d),
    "arange_away": lambda d: torch.arange(0, 3, -1, device=d),
    "arange_step_0": lambda d: torch.arange(0, 3, 0, device=d),
    "arange_inf": lambda d: torch.arange(0, float("inf"), device=d),
    "arange_nan": lambda d: torch.arange(0, float("nan"), device=d),
    "linspace": lambda d: torch.linspace(0, 1, -1, device=d),
    "randperm": lambda d: torch.randperm(-1, device=d),
    "overflow": lambda d: torch.empty(2**62, 2**10, device=d),
    "fft": lambda d: torch.fft.fft(v(d, 3), n=0),
}
FAMILIES = {
    f"{family}-{name}": program
    for family, programs in {
        "products": PRODUCTS,
        "pointwise": POINTWISE,
        "indexing": INDEXING,
        "views": VIEWS,
        "layers": LAYERS,
        "empty": EMPTY,
        "sizes": SIZES,
    }.items()
    for name, program in programs.items()
}


@pytest.mark.parametrize("name", FAMILIES)
def test_shapes_that_do_not_fit(name):
    refused(FAMILIES[name])


def test_a_negative_size_is_named_where_pytorch_speaks_of_an_overflow():
    refused_in_other_words(lambda d: v(d, 3).resize_(-1), "negative dimension -1")


def test_keys_and_values_of_different_lengths():
    """PyTorch's CPU kernel reads past the end of the shorter one."""
    error = raised(
        lambda d: F.scaled_dot_product_attention(
            v(d, 1, 2, 3, 4), v(d, 1, 2, 3, 4), v(d, 1, 2, 5, 4)
        )
    )
    assert type(error) is RuntimeError
    assert "the same sequence length, but got 3 and 5" in readable(error)
