"""vmap over the fused attention and recurrent cells: one call for all lanes, equal to the CPU's."""

import pytest
import torch
import torch.nn.functional as F
from agreement import agree, random
from torch import nn
from torch.func import functional_call, grad, jacrev, stack_module_state, vjp, vmap

import torch_neuronx

LANES, BATCH, HEADS, QUERIES, KEYS, WIDTH = 3, 2, 2, 4, 5, 4
Q = random(LANES, BATCH, HEADS, QUERIES, WIDTH)
K = random(LANES, BATCH, HEADS, KEYS, WIDTH, seed=1)
V = random(LANES, BATCH, HEADS, KEYS, WIDTH, seed=2)
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


OF_THE_CPU = ("_cpu", "mkldnn")


@pytest.fixture(autouse=True)
def _no_lane_by_lane(recwarn):
    """PyTorch warns where it has no batching rule: of the CPU's fused operators it has none."""
    yield
    slow = [str(w.message) for w in recwarn if "implemented the batching rule" in str(w.message)]
    assert not [w for w in slow if not any(name in w for name in OF_THE_CPU)]


@pytest.fixture(autouse=True)
def _native():
    with torch_neuronx.no_fallback():
        yield


def loss(q, k, v, mask=None):
    return F.scaled_dot_product_attention(q, k, v, mask).square().sum()


MASKS = {
    "queries by keys": (QUERIES, KEYS),
    "broadcast": (1, 1, QUERIES, KEYS),
    "of each batch": (BATCH, 1, QUERIES, KEYS),
    "of each head": (BATCH, HEADS, QUERIES, KEYS),
}


@pytest.mark.parametrize("in_dims", [(0, 0, 0), (0, None, None), (None, 1, 1), (2, 0, None)])
def test_attention(in_dims):
    shapes = [t if d is not None else t[0] for t, d in zip((Q, K, V), in_dims, strict=True)]
    args = [t if d is None else t.movedim(0, d) for t, d in zip(shapes, in_dims, strict=True)]
    agree(vmap(grad(loss, argnums=(0, 1, 2)), in_dims), *args, **CLOSE)


@pytest.mark.parametrize("shape", MASKS.values(), ids=MASKS)
def test_masks(shape):
    shared, own = random(*shape, seed=3), random(LANES, *shape, seed=4) > -1
    gradients = grad(loss, argnums=(0, 1, 2))
    agree(vmap(gradients, (0, 0, 0, None)), Q, K, V, shared, **CLOSE)
    agree(vmap(gradients), Q, K, V, own, **CLOSE)


def test_every_derivative_of_a_result():
    def attend(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    agree(jacrev(attend, argnums=(0, 2)), Q[0, :1], K[0, :1, :, :QUERIES], V[0, :1, :, :QUERIES])


def attend_with_dropout(q):
    return F.scaled_dot_product_attention(q, q, q, dropout_p=0.5)


def test_lanes_drop_different_weights():
    same = Q[:1].expand(3, -1, -1, -1, -1).contiguous().to("neuron")
    lanes = vmap(attend_with_dropout, randomness="different")(same).cpu()
    assert not torch.equal(lanes[0], lanes[1])


@pytest.mark.parametrize("randomness", ["error", "same"])
def test_dropout_in_lanes_is_refused_where_pytorch_refuses_it(randomness):
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(attend_with_dropout, randomness=randomness)(Q.to("neuron"))


def test_cotangents_share_the_dropout_of_their_forward_pass():
    """The Jacobian's rows are those of backward passes one by one."""
    out, pull = vjp(attend_with_dropout, Q[0, :1, :1].to("neuron"))
    seeds = torch.eye(out.numel(), device="neuron").unflatten(1, out.shape)
    one_by_one = [pull(seed)[0] for seed in seeds]
    (at_once,) = vmap(pull)(seeds)
    torch.testing.assert_close(at_once.cpu(), torch.stack(one_by_one).cpu())


LAYERS = {
    "lstm": lambda: nn.LSTM(4, 3),
    "gru": lambda: nn.GRU(4, 3),
    "lstm without bias": lambda: nn.LSTM(4, 3, bias=False),
}


def energy(layer):
    """Of the outputs; the GRU is given a state, for PyTorch's has no vmap without one."""

    def of(parameters, x, state):
        given = (x, state) if isinstance(layer, nn.GRU) else (x, (state, state))
        return functional_call(layer, parameters, given)[0].square().sum()

    return of


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_of_a_recurrent_layer_per_sample(name):
    layer = LAYERS[name]()
    parameters = {k: p.detach() for k, p in layer.named_parameters()}
    x, state = random(3, 2, 2, 4), random(3, 1, 2, 3)
    agree(vmap(grad(energy(layer)), (None, 0, 0)), parameters, x, state, **CLOSE)


@pytest.mark.parametrize("name", LAYERS)
def test_an_ensemble_of_recurrent_layers(name):
    layers = [LAYERS[name]() for _ in range(3)]
    parameters = {k: p.detach() for k, p in stack_module_state(layers)[0].items()}
    x, state = random(2, 2, 4), random(3, 1, 2, 3)
    agree(vmap(grad(energy(layers[0])), (0, None, 0)), parameters, x, state, **CLOSE)
