"""Recurrent layers over packed sequences, with projections and dropout, agree with the CPU."""

import pytest
import torch
from agreement import agree, random
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import torch_neuronx

LAYERS = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn": torch.nn.RNN}
LENGTHS = torch.tensor([4, 2, 3])
# Up to four steps of products of five terms, forward and backward.
BOUNDS = {"rtol": 1e-4, "atol": 1e-5}


@pytest.fixture(autouse=True)
def _stays_on_the_device():
    with torch_neuronx.no_fallback():
        yield


def with_gradients(layer, run, x):
    """run(layer, x) is (output, states...): those, and the gradients of all that leads to them."""
    x = x.detach().requires_grad_()
    results = run(layer, x)
    loss = sum((r * r).sum() for r in results)
    gradients = torch.autograd.grad(loss, [x, *layer.parameters()])
    return *(r.detach() for r in results), *gradients


def flat(y, state):
    return (y, *state) if isinstance(state, tuple) else (y, state)


def made(kind, x, **options):
    torch.manual_seed(0)
    return LAYERS[kind](4, 5, batch_first=True, **options).to(x.device)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", LAYERS)
def test_packed_sequences(kind, bidirectional):
    def run(layer, x):
        packed = pack_padded_sequence(x, LENGTHS, batch_first=True, enforce_sorted=False)
        y, state = layer(packed)
        padded, _ = pad_packed_sequence(y, batch_first=True)
        return flat(padded, state)

    agree(
        lambda x: with_gradients(made(kind, x, bidirectional=bidirectional), run, x),
        random(3, 4, 4),
        strides=False,
        **BOUNDS,
    )


def test_projected_states():
    agree(
        lambda x: with_gradients(
            made("lstm", x, proj_size=3, num_layers=2), lambda layer, x: flat(*layer(x)), x
        ),
        random(2, 3, 4),
        strides=False,
        **BOUNDS,
    )


@pytest.mark.parametrize("kind", ["gru", "rnn"])
def test_two_directions_and_a_given_state(kind):
    def run(layer, x):
        state = torch.linspace(-1, 1, 2 * 2 * 2 * 5, device=x.device).view(4, 2, 5)
        return flat(*layer(x, state))

    agree(
        lambda x: with_gradients(made(kind, x, num_layers=2, bidirectional=True), run, x),
        random(2, 3, 4),
        strides=False,
        **BOUNDS,
    )


def test_dropout_between_layers_is_of_training_only():
    x = random(2, 6, 4).to("neuron")
    layer = made("lstm", x, num_layers=2, dropout=0.5)
    torch.manual_seed(1)
    first, second = layer(x)[0], layer(x)[0]
    torch.manual_seed(1)
    again = layer(x)[0]
    assert torch.equal(first, again)
    assert not torch.equal(first, second)
    agree(
        lambda x: made("lstm", x, num_layers=2, dropout=0.5).eval()(x)[0].detach(),
        x.cpu(),
        **BOUNDS,
    )


def test_dropping_everything_leaves_the_last_layer_its_biases():
    """With dropout of 1, the second layer's input is zeros whatever x is."""
    x = random(2, 3, 4).to("neuron")
    layer = made("gru", x, num_layers=2, dropout=1.0)
    torch.testing.assert_close(layer(x)[0], layer(x * 7 + 1)[0])
