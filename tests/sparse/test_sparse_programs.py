"""Programs with sparse tensors that a user would write train as on the CPU."""

import pytest
import torch
import torch.nn.functional as F
from agreement import agree_by_device
from torch import nn

NODES, FEATURES, CLASSES = 12, 5, 3


def adjacency():
    """D^-1/2 (A + I) D^-1/2 of a ring with chords: Kipf and Welling, arXiv 1609.02907, eq. 2."""
    node = torch.arange(NODES)
    edges = torch.zeros(NODES, NODES)
    edges[node, (node + 1) % NODES] = 1
    edges[node, (node * 5) % NODES] = 1
    edges = ((edges + edges.t()) > 0).float().fill_diagonal_(1)
    scale = edges.sum(1).rsqrt()
    return scale[:, None] * edges * scale


class GraphConvolution(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, adjacency, x):
        return torch.sparse.mm(adjacency, self.linear(x))


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_graph_convolutions(layout):
    def train(device):
        first, second = GraphConvolution(FEATURES, 8), GraphConvolution(8, CLASSES)
        model = nn.ModuleList([first, second]).to(device)
        graph = adjacency().to_sparse(layout=layout).to(device)
        x = torch.randn(NODES, FEATURES).to(device)
        labels = (torch.arange(NODES) % CLASSES).to(device)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        losses = []
        for _ in range(5):
            loss = F.cross_entropy(second(graph, F.relu(first(graph, x))), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return torch.stack(losses)

    agree_by_device(train, rtol=1e-5, atol=1e-5)


OPTIMIZERS = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.1),
    "momentum": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
    "Adagrad": lambda parameters: torch.optim.Adagrad(parameters, lr=0.1),
    "SparseAdam": lambda parameters: torch.optim.SparseAdam(list(parameters), lr=0.1),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("module", [nn.Embedding, nn.EmbeddingBag])
def test_embeddings_with_sparse_gradients(module, optimizer):
    def train(device):
        table = module(20, 4, sparse=True).to(device)
        step = OPTIMIZERS[optimizer](table.parameters())
        words = torch.tensor([[1, 3, 3], [7, 1, 19]])
        for shift in range(4):
            loss = table(((words + shift) % 20).to(device)).square().sum()
            step.zero_grad()
            loss.backward()
            assert table.weight.grad.is_sparse
            step.step()
        return table.weight.detach(), table.weight.grad

    agree_by_device(train)


def test_a_step_with_a_sparse_gradient_is_one_program():
    import torch_neuronx

    weight = torch.randn(20, 4).to("neuron")
    rows = torch.tensor([[1, 3, 3]], device="neuron")
    gradient = torch.sparse_coo_tensor(rows, torch.ones(3, 4, device="neuron"), (20, 4))
    weight.add_(gradient, alpha=-0.1)
    torch_neuronx.clear_op_tracking()
    weight.add_(gradient, alpha=-0.1)
    assert "neuron::scatter_at" in torch_neuronx.get_executed_ops()
