"""One or more sample calls of every operator that PyTorch tags ``core``.

``SAMPLES`` maps an overload to functions of a dtype that return (args, kwargs) of CPU
tensors. A dtype that the operator's CPU kernel refuses is not listed here: the test asks
the CPU. ``tests/ops/test_core.py`` checks that no core operator is missing.
"""

import torch

aten = torch.ops.aten


def tensor(dtype, *shape, low=-4, high=5, seed=0):
    """Values that are exact in every dtype, so that only the operator can round."""
    generator = torch.Generator().manual_seed(seed + sum(shape))
    if dtype is torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    values = torch.randint(low * 4, high * 4, shape, generator=generator)
    return (values.float() / 4).to(dtype) if dtype.is_floating_point else values.to(dtype) // 4


def positive(dtype, *shape):
    return (
        tensor(dtype, *shape, low=1, high=5) if dtype is not torch.bool else tensor(dtype, *shape)
    )


def unit(dtype, *shape):
    """Values inside (-1, 1) for the inverse functions; zeros and ones for integers."""
    x = tensor(dtype, *shape)
    return x / 8 if dtype.is_floating_point else x.clamp(-1, 1) if dtype is torch.int64 else x


def call(*make, **kwargs):
    """A sample from argument makers: callables of dtype are applied, the rest is passed on."""

    def sample(dtype):
        args = [m(dtype) if callable(m) and not isinstance(m, torch.dtype) else m for m in make]
        kw = {k: v(dtype) if callable(v) else v for k, v in kwargs.items()}
        return args, kw

    return sample


def t(*shape, **kwargs):
    return lambda dtype: tensor(dtype, *shape, **kwargs)


def index(*values):
    return lambda dtype: torch.tensor(values)


def channels_last(*shape):
    return lambda dtype: tensor(dtype, *shape).contiguous(memory_format=torch.channels_last)


def transposed(*shape):
    return lambda dtype: tensor(dtype, *shape).transpose(0, 1)


def mask(*shape):
    return lambda dtype: tensor(torch.bool, *shape)


SAMPLES = {}


def add(op, *samples):
    SAMPLES[op] = list(samples)


UNARY = [
    "abs", "bitwise_not", "ceil", "cos", "cosh", "erf", "exp", "expm1", "floor", "isinf", "isnan",
    "log", "log10", "log1p", "log2", "logical_not", "neg", "reciprocal", "relu", "round", "rsqrt",
    "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
]  # fmt: skip
BINARY = [
    "add", "bitwise_and", "bitwise_or", "bitwise_xor", "eq", "ge", "gt", "le", "lt", "mul", "ne",
    "sub",
]  # fmt: skip

for name in UNARY:
    maker = positive if name.startswith("log") or "sqrt" in name else tensor
    shape = lambda d, m=maker: m(d, 3, 4)  # noqa: E731
    add(getattr(aten, name).default, call(shape), call(lambda d, s=shape: s(d).t()))
for name in ["acos", "asin", "atan", "atanh", "asinh"]:
    add(getattr(aten, name).default, call(lambda d: unit(d, 3, 4)))
add(aten.acosh.default, call(lambda d: positive(d, 3, 4)))
add(aten.gelu.default, call(t(3, 4)), call(t(3, 4), approximate="tanh"))
add(aten.elu.default, call(t(3, 4)), call(t(3, 4), 0.5))
add(aten.hardtanh.default, call(t(3, 4)), call(t(3, 4), -2, 2))
add(aten.leaky_relu.default, call(t(3, 4)), call(t(3, 4), 0.25))

for name in BINARY:
    add(
        getattr(aten, name).Tensor,
        call(t(3, 4), t(4, seed=1)),
        call(transposed(4, 3), t(3, 4, seed=1)),
    )
    add(getattr(aten, name).Scalar, call(t(3, 4), 2), call(t(3, 4), 1))
SAMPLES[aten.add.Tensor] += [
    call(t(3, 4), t(3, 4), alpha=2),
    call(channels_last(2, 3, 4, 5), t(1, 3, 1, 1)),
]
SAMPLES[aten.sub.Tensor] += [call(t(3, 4), t(3, 4), alpha=2)]
SAMPLES[aten.mul.Scalar] += [call(t(3, 4), 0.5)]
nonzero = lambda d: positive(d, 3, 4) if d is not torch.bool else torch.ones(3, 4, dtype=d)  # noqa: E731
for name in ["div", "fmod", "remainder"]:
    add(getattr(aten, name).Tensor, call(t(3, 4), nonzero))
    add(getattr(aten, name).Scalar, call(t(3, 4), 2), call(t(3, 4), -1.5))
add(
    aten.div.Tensor_mode,
    *(call(t(3, 4), nonzero, rounding_mode=m) for m in (None, "trunc", "floor")),
)
add(aten.div.Scalar_mode, *(call(t(3, 4), 2, rounding_mode=m) for m in (None, "trunc", "floor")))
for name in ["logical_and", "logical_or", "logical_xor"]:
    add(getattr(aten, name).default, call(t(3, 4), t(3, 4, seed=1)))
for name in ["maximum", "minimum"]:
    add(getattr(aten, name).default, call(t(3, 4), t(4, seed=1)))
add(aten.atan2.default, call(t(3, 4), t(3, 4, seed=1)))
add(
    aten.atan2.out,
    call(
        t(3, 4),
        t(3, 4, seed=1),
        out=lambda d: torch.empty(3, 4, dtype=d if d.is_floating_point else torch.float32),
    ),
)
small = lambda d: positive(d, 3, 4)  # noqa: E731
add(aten.pow.Tensor_Tensor, call(small, small))
add(aten.pow.Tensor_Scalar, call(t(3, 4), 2), call(small, 0.5), call(t(3, 4), 3))
add(aten.pow.Scalar, call(2, small))
add(aten.clamp.default, call(t(3, 4), -1, 2), call(t(3, 4), None, 1), call(t(3, 4), 0))
add(aten.clamp.Tensor, call(t(3, 4), t(4), t(3, 1, seed=2)))
add(aten.where.self, call(mask(3, 4), t(3, 4), t(4, seed=3)))

for name in ["amax", "amin"]:
    add(getattr(aten, name).default, call(t(3, 4)), call(t(3, 4), [1]), call(t(3, 4), [0, 1], True))
add(aten.any.default, call(t(3, 4)))
add(aten.any.dim, call(t(3, 4), 1), call(t(3, 4), 0, True))
add(aten.any.dims, call(t(3, 4), [0, 1]))
for name in ["argmax", "argmin"]:
    add(getattr(aten, name).default, call(t(3, 4)), call(t(3, 4), 1), call(t(3, 4), 0, True))
add(aten.max.dim, call(t(3, 5), 1), call(t(3, 5), 0, True))
add(aten.min.dim, call(t(3, 5), 1), call(t(3, 5), 0, True))
add(aten.mean.default, call(t(3, 4)), call(t(3, 4), dtype=torch.float32))
add(aten.mean.dim, call(t(3, 4), [0]), call(t(3, 4), None), call(t(3, 4), [1], True))
add(aten.sum.dim_IntList, call(t(3, 4), [0]), call(t(3, 4), []), call(t(3, 4), [1], True))
add(aten.prod.default, call(t(2, 3)))
add(aten.prod.dim_int, call(t(3, 4), 1))
add(aten.var.dim, call(t(3, 4), [0]), call(t(3, 4), None, False))
add(aten.var.correction, call(t(3, 4), [1], correction=1), call(t(3, 4), None, correction=0))
add(aten.cumsum.default, call(t(3, 4), 1), call(t(), 0))
add(aten._softmax.default, call(t(3, 4), 1, False), call(t(2, 3, 4), 0, False))
add(aten._log_softmax.default, call(t(3, 4), 1, False), call(t(), 0, False))

add(aten.mm.default, call(t(3, 4), t(4, 5)), call(transposed(4, 3), t(4, 5)))
add(aten.bmm.default, call(t(2, 3, 4), t(2, 4, 5)))
add(
    aten.addmm.default,
    call(t(5), t(3, 4), t(4, 5)),
    call(t(3, 5), t(3, 4), t(4, 5), beta=0, alpha=2),
)
add(
    aten._cdist_forward.default,
    call(t(3, 4), t(5, 4), 2.0, None),
    call(t(3, 4), t(5, 4), 1.0, None),
)
add(aten._pdist_forward.default, call(t(4, 3), 2.0))
add(aten._fft_r2c.default, call(t(3, 8), [1], 0, True), call(t(3, 8), [0, 1], 1, False))
add(
    aten._fft_c2r.default,
    call(lambda d: torch.complex(tensor(d, 3, 5), tensor(d, 3, 5, seed=1)), [1], 2, 8),
)

image, weight = t(2, 4, 6, 6), t(6, 4, 3, 3)
add(
    aten.convolution.default,
    call(image, weight, t(6), [1, 1], [1, 1], [1, 1], False, [0, 0], 1),
    call(channels_last(2, 4, 6, 6), t(6, 2, 3, 3), None, [2, 1], [0, 1], [1, 2], False, [0, 0], 2),
    call(image, t(4, 3, 3, 3), None, [2, 2], [1, 1], [1, 1], True, [1, 1], 1),
)
add(
    aten.convolution_backward.default,
    call(t(2, 6, 6, 6), image, weight, [6], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True] * 3),
    call(
        t(2, 6, 4, 4),
        image,
        weight,
        [0],
        [1, 1],
        [0, 0],
        [1, 1],
        False,
        [0, 0],
        1,
        [True, True, False],
    ),
)
add(aten.avg_pool2d.default, call(image, [2, 2]), call(image, [3, 3], [2, 2], [1, 1], True, False))
add(
    aten.avg_pool2d_backward.default,
    call(t(2, 4, 3, 3), image, [2, 2], [2, 2], [0, 0], False, True, None),
)
add(aten.avg_pool3d.default, call(t(1, 2, 4, 4, 4), [2, 2, 2]))
add(aten.avg_pool1d.default, call(t(2, 4, 6), [2]))
add(aten.adaptive_avg_pool1d.default, call(t(2, 4, 6), [3]))
add(aten.resize_.default, call(t(3, 4), [2, 3]))
add(aten._adaptive_avg_pool2d.default, call(image, [2, 3]))
add(aten._adaptive_avg_pool2d_backward.default, call(t(2, 4, 2, 3), image))
add(aten._adaptive_avg_pool3d.default, call(t(1, 2, 4, 4, 4), [2, 3, 2]))
add(
    aten.max_pool2d_with_indices.default,
    call(image, [2, 2]),
    call(image, [3, 3], [2, 2], [1, 1], [1, 1], True),
)
pooled = lambda d: torch.nn.functional.max_pool2d(  # noqa: E731
    tensor(torch.float32, 2, 4, 6, 6), 2, return_indices=True
)[1]
add(
    aten.max_pool2d_with_indices_backward.default,
    call(t(2, 4, 3, 3), image, [2, 2], [2, 2], [0, 0], [1, 1], False, pooled),
)
add(aten.max_pool3d_with_indices.default, call(t(1, 2, 4, 4, 4), [2, 2, 2]))
add(
    aten.grid_sampler_2d.default,
    *(
        call(t(1, 2, 4, 4), lambda d: unit(d, 1, 3, 3, 2), mode, padding, True)
        for mode in (0, 1)
        for padding in (0, 1)
    ),
)
add(
    aten.upsample_bilinear2d.vec,
    call(image, [9, 12], False, None),
    call(image, None, True, [1.5, 2.0]),
)
add(aten.upsample_nearest2d.vec, call(image, [9, 12], None))
add(aten.col2im.default, call(t(1, 8, 9), [4, 4], [2, 2], [1, 1], [0, 0], [1, 1]))

channel = lambda d: positive(d, 4)  # noqa: E731
add(
    aten._native_batch_norm_legit.default,
    call(image, channel, t(4), t(4), channel, True, 0.1, 1e-5),
)
add(aten._native_batch_norm_legit.no_stats, call(image, channel, t(4), True, 0.1, 1e-5))
add(
    aten._native_batch_norm_legit_no_training.default,
    call(image, channel, t(4), t(4), channel, 0.1, 1e-5),
)
add(
    aten.native_layer_norm.default,
    call(t(3, 4), [4], channel, t(4), 1e-5),
    call(t(3, 4), [4], None, None, 1e-5),
)
stats = lambda *s: lambda d: positive(d, *s)  # noqa: E731
add(
    aten.native_layer_norm_backward.default,
    call(t(3, 4), t(3, 4, seed=1), [4], t(3, 1), stats(3, 1), channel, t(4), [True] * 3),
)
add(aten.native_group_norm.default, call(image, channel, t(4), 2, 4, 36, 2, 1e-5))
add(
    aten.native_group_norm_backward.default,
    call(image, t(2, 4, 6, 6, seed=1), t(2, 2), stats(2, 2), channel, 2, 4, 36, 2, [True] * 3),
)

add(aten.embedding.default, call(t(5, 3), index(0, 4, 4)), call(t(5, 3), index(0, 1), 1))
add(aten.embedding_dense_backward.default, call(t(3, 4), index(0, 2, 2), 5, -1, False))
add(aten._embedding_bag.default, call(t(5, 3), index(0, 1, 4, 4), index(0, 2)))
add(aten.gather.default, call(t(3, 4), 1, lambda d: torch.tensor([[0, 3], [1, 1], [2, 0]])))
add(
    aten.index.Tensor,
    call(t(3, 4), lambda d: [torch.tensor([0, 2]), None]),
    call(t(3, 4), lambda d: [torch.tensor([0, -1]), torch.tensor([[1], [2]])]),
)
add(
    aten.index_put.default,
    call(t(3, 4), lambda d: [torch.tensor([0, 2])], t(2, 4, seed=1)),
    call(t(3, 4), lambda d: [torch.tensor([0, 0])], t(4, seed=1), True),
)
add(aten.index_select.default, call(t(3, 4), 1, index(0, 0, 3)))
rows = lambda d: torch.tensor([[0, 1], [1, 2], [2, 0]])  # noqa: E731
add(aten.scatter.src, call(t(3, 4), 0, rows, t(3, 2, seed=1)))
add(aten.scatter.value, call(t(3, 4), 0, rows, 1))
add(aten.scatter_add.default, call(t(3, 4), 0, rows, t(3, 2, seed=1)))
add(
    aten.scatter_reduce.two,
    *(
        call(t(3, 4), 0, rows, t(3, 2, seed=1), reduce, include_self=include)
        for reduce in ("sum", "prod", "mean", "amax", "amin")
        for include in (True, False)
    ),
)
add(aten.masked_scatter.default, call(t(3, 4), mask(3, 4), t(12, seed=1)))
add(aten.nonzero.default, call(t(3, 4)))
add(aten.sort.default, call(t(3, 8)), call(t(3, 8), 0, True))
add(aten.topk.default, call(lambda d: torch.arange(12).remainder(7).reshape(2, 6).to(d), 2))

add(aten.alias.default, call(t(3, 4)))
add(aten.as_strided.default, call(t(3, 4), [2, 2], [1, 5], 1))
add(aten.diagonal.default, call(t(3, 4)), call(t(3, 4), 1))
add(aten.expand.default, call(t(3, 1), [2, 3, 4]))
add(aten.permute.default, call(t(2, 3, 4), [2, 0, 1]))
add(aten.select.int, call(t(3, 4), 1, -1))
add(aten.slice.Tensor, call(t(3, 4), 1, 1, 4, 2))
add(aten.split_with_sizes.default, call(t(3, 5), [2, 3], 1))
add(aten.squeeze.dim, call(t(3, 1), 1))
add(aten.squeeze.dims, call(t(1, 3, 1), [0, 2]))
add(aten.unsqueeze.default, call(t(3, 4), 1))
add(aten.view.default, call(t(3, 4), [2, -1]))
add(
    aten.cat.default,
    call(lambda d: [tensor(d, 2, 3), tensor(d, 1, 3)]),
    call(lambda d: [tensor(d, 2, 3)] * 2, 1),
)
add(
    aten.clone.default,
    call(t(3, 4)),
    call(transposed(3, 4)),
    call(image, memory_format=lambda d: torch.channels_last),
)
add(aten.constant_pad_nd.default, call(t(3, 4), [1, 2], 1), call(t(3, 4), [-1, 1, 0, 2]))
add(aten.copy.default, call(t(3, 4), t(4, seed=1)))
add(aten.fill.Scalar, call(t(3, 4), 1))
add(aten.flip.default, call(t(3, 4), [1]))
add(aten.repeat.default, call(t(3, 4), [2, 1, 2]))
add(aten.select_scatter.default, call(t(3, 4), t(3, seed=1), 1, 2))
add(aten.slice_scatter.default, call(t(3, 4), t(3, 2, seed=1), 1, 1, 3))
add(aten.reflection_pad1d.default, call(t(2, 5), [1, 2]))
add(aten.reflection_pad2d.default, call(t(2, 4, 5), [1, 2, 1, 1]))
add(aten.reflection_pad3d.default, call(t(1, 2, 3, 4, 4), [1, 1, 1, 2, 1, 1]))
add(aten.replication_pad2d.default, call(t(2, 4, 5), [1, 2, 1, 1]))
add(aten.replication_pad3d.default, call(t(1, 2, 3, 4, 4), [1, 1, 1, 2, 1, 1]))
add(
    aten._to_copy.default,
    call(t(3, 4), dtype=lambda d: torch.float32),
    call(t(3, 4), dtype=lambda d: torch.int64),
)
add(aten._local_scalar_dense.default, call(t()))

as_dtype = {"dtype": lambda d: d}
add(aten.arange.start_step, call(1, 9, 2, **as_dtype))
add(aten.full.default, call([2, 3], 1, **as_dtype))
add(aten.full_like.default, call(t(3, 4), 1), call(transposed(3, 4), 1))
add(aten.scalar_tensor.default, call(1, **as_dtype))
add(aten.empty.memory_format, call([2, 3], **as_dtype))
add(aten.empty_strided.default, call([2, 3], [1, 2], **as_dtype))
add(aten.rand.default, call([2, 3], **as_dtype))
add(aten.randn.default, call([2, 3], **as_dtype))
add(aten.randperm.default, call(7, **as_dtype))
add(aten.native_dropout.default, call(t(3, 4), 0.5, True))

# Numbers drawn or memory left as it is: only the description can be compared.
UNDEFINED_VALUES = {
    aten.empty.memory_format,
    aten.empty_strided.default,
    aten.rand.default,
    aten.randn.default,
    aten.randperm.default,
    aten.native_dropout.default,
}
FACTORIES = {
    aten.arange.start_step,
    aten.full.default,
    aten.scalar_tensor.default,
    *UNDEFINED_VALUES,
} - {aten.native_dropout.default}
# Questions about a tensor's description; they never reach a device.
METADATA = {"sym_is_contiguous", "sym_numel", "sym_size", "sym_storage_offset", "sym_stride"}
# The output's shape depends on the values, so the host computes it.
DATA_DEPENDENT = {aten.nonzero.default}
