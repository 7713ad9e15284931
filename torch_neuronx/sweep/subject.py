"""A model under test: built once, run on the CPU, on the device and in float64."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves, tree_map

from torch_neuronx.sweep.catalog import Architecture
from torch_neuronx.sweep.comparison import Tensors, tensors


@dataclass
class Subject:
    """A model in evaluation mode and the arguments of its forward, on one device."""

    model: nn.Module
    inputs: dict[str, Any]

    def on(self, device: str) -> Subject:
        """A copy on `device`."""
        model = _copied(self.model).to(device)
        return Subject(model, _each(self.inputs, lambda tensor: tensor.to(device)))

    def double(self) -> Subject:
        """A copy in float64."""
        return Subject(
            _copied(self.model).double(),
            _each(self.inputs, lambda t: t.double() if t.is_floating_point() else t),
        )

    def forward(self, function: Any = None) -> Any:
        """What the model returns; `function` takes the model's place. The seed is the same for
        every run."""
        torch.manual_seed(0)
        called = self.model if function is None else function
        return called(**tree_map(_anew, self.inputs))

    def gradients(self, output: Any) -> Tensors:
        """Of all parameters, for the loss where there is one and else for a fixed mixture of what
        the model returns. Empty where nothing that it returns has a gradient."""
        self.model.zero_grad(set_to_none=True)
        loss = objective(tensors(output))
        if loss is None:
            return {}
        loss.backward()
        return {n: p.grad for n, p in self.model.named_parameters() if p.grad is not None}


def _copied(model: nn.Module) -> nn.Module:
    """A copy that also takes what autograd computed: weight_norm keeps the weight that it derives
    as an attribute, and deepcopy refuses tensors that are not leaves. The copy has its value."""
    held = [leaf for module in model.modules() for leaf in tree_leaves(vars(module))]
    computed = [t for t in held if isinstance(t, torch.Tensor) and not t.is_leaf]
    return copy.deepcopy(model, {id(t): t.detach().clone() for t in computed})


def objective(outputs: Tensors) -> torch.Tensor | None:
    """A scalar to differentiate: `loss`, or each output weighted by a cosine of its position."""
    if "loss" in outputs and outputs["loss"].requires_grad:
        return outputs["loss"].sum()
    total = None
    for output in outputs.values():
        if not output.requires_grad or output.is_complex() or not output.numel():
            continue
        weights = torch.cos(torch.arange(output.numel(), dtype=torch.float64))
        weights = weights.to(output.dtype).to(output.device).view(output.shape)
        part = (output * weights).mean()
        total = part if total is None else total + part
    return total


def build(architecture: Architecture) -> Subject:
    """On the CPU, from the seed of its name."""
    torch.manual_seed(0)
    if architecture.library == "transformers":
        from torch_neuronx.sweep import transformers_models as models
    elif architecture.library == "timm":
        from torch_neuronx.sweep import timm_models as models  # type: ignore[no-redef]
    else:
        from torch_neuronx.sweep import diffusers as models  # type: ignore[no-redef]
    return Subject(*models.build(architecture))


def _anew(value: Any) -> Any:
    """A copy of what a forward may change: a tensor, or where a generator stands."""
    if isinstance(value, torch.Generator):
        return torch.Generator().set_state(value.get_state())
    return value.clone() if isinstance(value, torch.Tensor) else value


def _each(value: Any, change: Any) -> Any:
    return tree_map(lambda leaf: change(leaf) if isinstance(leaf, torch.Tensor) else leaf, value)
