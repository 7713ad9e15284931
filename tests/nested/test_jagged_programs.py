"""A transformer block without padding trains on jagged input as on the CPU, eager and compiled."""

import torch
import torch.nn.functional as F
from agreement import agree_by_device
from nested_samples import jagged
from torch import nn

WIDTH, HEADS = 16, 2


class Block(nn.Module):
    """Pre-norm attention and feed-forward; items attend to themselves alone."""

    def __init__(self):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.wide, self.narrow = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        y = self.norm_1(x)
        q, k, v = (
            part(y).unflatten(-1, (HEADS, WIDTH // HEADS)).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        attended = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(attended.transpose(1, 2).flatten(-2))
        return x + self.narrow(F.gelu(self.wide(self.norm_2(x))))


def test_a_block_trains():
    def train(device):
        block = Block().to(device)
        optimizer = torch.optim.SGD(block.parameters(), lr=0.1)
        x = jagged(device, WIDTH)
        losses = []
        for _ in range(3):
            loss = block(x).values().square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return torch.stack(losses), [p.grad for p in block.parameters()]

    agree_by_device(train, rtol=1e-4, atol=1e-5)


def test_a_block_compiles():
    """Other lengths, and another number of items, in the same compiled function."""

    def run(device):
        block = Block().to(device)
        function = torch.compile(block, backend="neuron") if device == "neuron" else block
        found = []
        for lengths in ((3, 1, 4), (2, 5, 2, 1)):
            items = [torch.linspace(-1, 1, n * WIDTH).view(n, WIDTH) for n in lengths]
            x = torch.nested.nested_tensor(
                items, layout=torch.jagged, device=device, requires_grad=True
            )
            loss = function(x).values().square().mean()
            loss.backward()
            found += [loss.detach(), x.grad.values()]
        return found

    agree_by_device(run, rtol=1e-4, atol=1e-5)
