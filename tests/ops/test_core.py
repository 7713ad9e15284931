"""Every operator tagged ``core`` agrees with the CPU in value, dtype, shape and strides."""

import pytest
import torch
from agreement import same
from core_samples import DATA_DEPENDENT, FACTORIES, METADATA, SAMPLES, UNDEFINED_VALUES
from torch.utils._pytree import tree_leaves, tree_map

import torch_neuronx

DTYPES = [torch.float32, torch.bfloat16, torch.int64, torch.bool]


def core_overloads():
    for name in torch._C._dispatch_get_all_op_names():
        space, _, rest = name.partition("::")
        packet, _, overload = rest.partition(".")
        if space != "aten" or packet in METADATA:
            continue
        op = getattr(getattr(torch.ops.aten, packet), overload or "default")
        if torch.Tag.core in op.tags:
            yield op


def to_device(value):
    return value.to("neuron") if isinstance(value, torch.Tensor) else value


def strided_copy(value):
    """Operators with out= write their arguments, so each side has its own."""
    return value.clone() if isinstance(value, torch.Tensor) else value


def tolerance(expected):
    """Two roundings of the result, after sums of at most a few hundred exact terms."""
    tensors = [leaf for leaf in tree_leaves(expected) if isinstance(leaf, torch.Tensor)]
    eps = max((torch.finfo(t.dtype).eps for t in tensors if not is_exact(t)), default=0)
    return {"rtol": 16 * eps, "atol": 16 * eps}


def is_exact(tensor):
    return not (tensor.dtype.is_floating_point or tensor.dtype.is_complex)


def outcome(op, args, kwargs):
    try:
        return op(*args, **kwargs)
    except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError) as error:
        return error


def test_samples_cover_every_core_operator():
    assert set(core_overloads()) == set(SAMPLES)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: str(d).removeprefix("torch."))
@pytest.mark.parametrize("op", sorted(SAMPLES, key=str), ids=str)
def test_core_operator(op, dtype):
    supported = False
    for sample in SAMPLES[op]:
        try:
            args, kwargs = sample(dtype)
        except RuntimeError:
            continue  # the CPU cannot make this argument in this dtype
        expected = outcome(op, *tree_map(strided_copy, (args, kwargs)))
        device_args, device_kwargs = tree_map(to_device, (args, kwargs))
        if op in FACTORIES:
            device_kwargs = {**device_kwargs, "device": "neuron"}
        torch_neuronx.clear_op_tracking()
        result = outcome(op, device_args, device_kwargs)
        if isinstance(expected, Exception):
            continue  # the device may know more dtypes than the CPU
        supported = True
        assert not isinstance(result, Exception), f"{args} {kwargs}: {result!r}"
        same(result, expected, values=op not in UNDEFINED_VALUES, **tolerance(expected))
        if op not in DATA_DEPENDENT:
            assert not torch_neuronx.get_fallback_ops()
    if not supported:
        pytest.skip(f"{op} has no CPU kernel for {dtype}")
