"""The part of the grammar with weights: products, convolutions, pooling, norms, losses."""

from __future__ import annotations

import torch

from .guards import attends, finite, has_spread
from .op import Op, each
from .slots import (
    COMPLEX,
    FLOAT,
    INEXACT,
    NUMBER,
    alike,
    choice,
    dim,
    flag,
    indices,
    integer,
    number,
    of_shape,
    partner,
    tensor,
)


def _columns(t: torch.Tensor) -> tuple[int, ...]:
    return (t.size(-1), 3)


def _batched(t: torch.Tensor) -> tuple[int, ...]:
    return (*t.shape[:-2], t.size(-1), 2)


def _last(t: torch.Tensor) -> tuple[int, ...]:
    return (t.size(-1),)


def _channels(t: torch.Tensor) -> tuple[int, ...]:
    return (t.size(1),)


def _kernel(*size: int):
    """A convolution's weight for the channels of its input."""

    def shape(t: torch.Tensor) -> tuple[int, ...]:
        return (2, t.size(t.dim() - len(size) - 1), *size)

    return shape


PRODUCTS = (
    Op("torch.matmul({}, {})", (tensor(NUMBER, (2, 4)), of_shape(_columns)), accumulates=True),
    Op("torch.matmul({}, {})", (tensor(NUMBER, (1, 4)), of_shape(_last)), accumulates=True),
    Op("{} @ {}", (tensor(INEXACT, (2, 4)), of_shape(_batched)), accumulates=True),
    Op("torch.mm({}, {}.t())", (tensor(INEXACT, (2, 2)), alike()), accumulates=True),
    Op("torch.bmm({}, {})", (tensor(NUMBER, (3, 3)), of_shape(_batched)), accumulates=True),
    Op("torch.outer({}, {})", (tensor(NUMBER, (1, 1)), tensor(NUMBER, (1, 1)))),
    Op("torch.dot({}, {})", (tensor(INEXACT, (1, 1)), alike()), accumulates=True),
    Op(
        "torch.addmm({0}[0, 0], {0}, {1}, beta={2}, alpha={3})",
        (tensor(FLOAT, (2, 2)), of_shape(_columns), integer(0, 2), number(positive=True)),
        accumulates=True,
    ),
    Op(
        'torch.einsum("...i,...i->...", {}, {})',
        (tensor(NUMBER, (1, 4)), alike()),
        accumulates=True,
    ),
    Op(
        "torch.tensordot({}, {}, 1)",
        (tensor(INEXACT, (1, 3)), of_shape(_columns)),
        accumulates=True,
    ),
    Op("torch.kron({}, {})", (tensor(NUMBER, (1, 2)), tensor(NUMBER, (1, 2)))),
    Op(
        "F.linear({}, {})",
        (tensor(FLOAT, (1, 4)), of_shape(lambda t: (2, t.size(-1)))),
        accumulates=True,
    ),
    Op(
        "F.linear({}, {}, {})",
        (tensor(FLOAT, (1, 4)), of_shape(lambda t: (2, t.size(-1))), of_shape(lambda t: (2,))),
        accumulates=True,
    ),
    Op("torch.cdist({}, {})", (tensor(FLOAT, (2, 3)), alike()), accumulates=True),
    Op("torch.trace({})", (tensor(NUMBER, (2, 2)),), accumulates=True),
    Op("torch.cross({}, {})", (tensor(NUMBER, (1, 3)), alike()), accumulates=True),
    Op(
        "torch.complex({0}, {0}) @ {1}.to(torch.complex64)",
        (tensor((torch.float32,), (2, 2)), of_shape(_columns)),
        accumulates=True,
    ),
    Op("torch.vdot({}, {})", (tensor(COMPLEX, (1, 1)), alike()), accumulates=True),
)
LAYERS = (
    Op(
        "F.conv1d({}, {}, padding={})",
        (tensor(FLOAT, (2, 3)), of_shape(_kernel(2)), integer(0, 1)),
        accumulates=True,
        guard=finite,
    ),
    Op(
        "F.conv2d({}, {}, stride={}, padding=1)",
        (tensor(FLOAT, (3, 4)), of_shape(_kernel(2, 3)), integer(1, 2)),
        accumulates=True,
        guard=finite,
    ),
    Op(
        "F.conv2d({}, {}, {}, dilation={})",
        (tensor(FLOAT, (4, 4)), of_shape(_kernel(1, 2)), of_shape(lambda t: (2,)), integer(1, 2)),
        accumulates=True,
        guard=finite,
    ),
    Op(
        "F.conv_transpose1d({}, {}, stride={})",
        (tensor(FLOAT, (3, 3)), of_shape(lambda t: (t.size(1), 2, 2)), integer(1, 2)),
        accumulates=True,
        guard=finite,
    ),
    *each("max_pool2d avg_pool2d", "F.NAME({}, 2)", tensor(FLOAT, (3, 4)), accumulates=True),
    *each(
        "max_pool1d avg_pool1d",
        "F.NAME({}, 2, {})",
        tensor(FLOAT, (2, 3)),
        integer(1, 2),
        accumulates=True,
    ),
    Op("F.max_pool2d({}, 2, 1, 1)", (tensor(FLOAT, (3, 4)),)),
    Op(
        "F.avg_pool2d({}, 3, 1, 1, count_include_pad={})",
        (tensor(FLOAT, (3, 4)), flag()),
        accumulates=True,
    ),
    *each(
        "adaptive_avg_pool1d adaptive_max_pool1d",
        "F.NAME({}, 2)",
        tensor(FLOAT, (2, 3)),
        accumulates=True,
    ),
    Op("F.adaptive_avg_pool2d({}, (1, 3))", (tensor(FLOAT, (3, 4)),), accumulates=True),
    Op("F.layer_norm({0}, ({0}.size(-1),))", (tensor(FLOAT, (1, 4)),), accumulates=True),
    Op(
        "F.layer_norm({0}, ({0}.size(-1),), {1}, {2})",
        (tensor(FLOAT, (1, 4)), of_shape(_last), of_shape(_last)),
        accumulates=True,
        guard=has_spread,
    ),
    Op(
        "F.rms_norm({0}, ({0}.size(-1),), {1})",
        (tensor(FLOAT, (1, 4)), of_shape(_last)),
        accumulates=True,
    ),
    Op(
        "F.batch_norm({}, None, None, {}, {}, True)",
        (tensor(FLOAT, (2, 4)), of_shape(_channels), of_shape(_channels)),
        accumulates=True,
    ),
    Op("F.group_norm({}, 1)", (tensor(FLOAT, (2, 4)),), accumulates=True),
    Op("F.instance_norm({})", (tensor(FLOAT, (3, 4)),), accumulates=True),
    Op("F.normalize({}, dim={})", (tensor(FLOAT), dim()), accumulates=True),
    *each(
        "mse_loss l1_loss smooth_l1_loss huber_loss",
        "F.NAME({}, {}, reduction={})",
        tensor(FLOAT),
        alike(),
        choice('"mean"', '"sum"', '"none"'),
        accumulates=True,
    ),
    Op(
        "F.cross_entropy({0}, {2})",
        (tensor(FLOAT, (2, 2)), choice("1"), indices(False, along=1)),
        accumulates=True,
    ),
    Op("F.binary_cross_entropy_with_logits({}, {})", (tensor(FLOAT), alike()), accumulates=True),
    Op("F.kl_div({}, {}, reduction='sum')", (tensor(FLOAT), alike()), accumulates=True),
    Op(
        "F.cosine_similarity({}, {}, dim={})",
        (tensor(FLOAT, (1, 4)), alike(), dim()),
        accumulates=True,
    ),
    Op("F.glu({}, {})", (tensor(FLOAT, (1, 4)), dim())),
    Op("F.prelu({}, {})", (tensor(FLOAT, (2, 4)), of_shape(_channels))),
    Op("F.embedding({2}, {0})", (tensor(FLOAT, (2, 2)), choice("0"), indices(False))),
    Op("F.one_hot({2}, 4)", (tensor(FLOAT, (1, 1)), choice("0"), indices(False))),
    Op(
        "F.scaled_dot_product_attention({}, {}, {})",
        (tensor(FLOAT, (3, 4)), alike(), alike()),
        accumulates=True,
        guard=attends,
    ),
    Op(
        "F.interpolate({}, scale_factor=2, mode={})",
        (tensor(FLOAT, (3, 3)), choice('"nearest"', '"linear"')),
        accumulates=True,
    ),
    Op("F.pixel_shuffle({}, 1)", (tensor(FLOAT, (3, 4)),)),
    Op("F.unfold({}, 2)", (tensor(FLOAT, (4, 4)),)),
    Op("F.dropout({}, 0.5, training=False)", (tensor(FLOAT),)),
    Op("F.threshold({}, 0.5, {})", (tensor(FLOAT), number(True))),
    Op("torch.lerp({}, {}, {})", (tensor(FLOAT), alike(), partner(None))),
)
