"""A graph of AOTAutograd's, analysed once: inputs, results, updates of inputs, and a fingerprint.

A functional graph of ATen ops on fake tensors, at whose end stand the copies that write new values
into inputs. It holds whatever the inputs' sizes are; `symbols` binds them for one call.
"""

from __future__ import annotations

import functools
import hashlib
import operator
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import fx
from torch.multiprocessing.reductions import StorageWeakRef

from torch_neuronx.compile import rng_state
from torch_neuronx.compile.runtime_sizes import runtime_sizes
from torch_neuronx.lowering import graph

aten = torch.ops.aten


class Captured:
    """kind: "forward", "backward" or "inference"."""

    def __init__(self, module: fx.GraphModule, kind: str, name: str) -> None:
        self.module = module
        self.kind = kind
        self.name = name
        rng_state.annotate(module)
        nodes: list[Any] = list(module.graph.nodes)
        placeholders = [n for n in nodes if n.op == "placeholder"]
        self.runtime_sizes = runtime_sizes(module)
        # Each input, and whether it is given as a tensor (else as a size, which is in the key).
        self.inputs = {n: _is_tensor(n) or n in self.runtime_sizes for n in placeholders}
        self.epilogue = [n for n in nodes if _is_update(n)]
        # Input -> the value that it has after the call.
        self.mutations: dict[fx.Node, fx.Node] = {n.args[0]: n.args[1] for n in self.epilogue}
        self.mutated_storages = {_storage(n) for n in self.mutations}
        (output,) = (n for n in nodes if n.op == "output")
        returned = output.args[0]
        returned = returned if isinstance(returned, (list, tuple)) else [returned]
        self.outputs = [self._after_update(r) for r in returned]

    def _after_update(self, node: Any) -> Any:
        return node.args[1] if node in self.epilogue else node

    @functools.cached_property
    def nodes(self) -> int:
        return sum(n.op == "call_function" for n in self.module.graph.nodes)

    @functools.cached_property
    def host_inputs(self) -> list[fx.Node]:
        """Tensors on the CPU, apart from 0-d ones, which are numbers to a program."""
        return [n for n in self.inputs if on_cpu(n) and n.meta["val"].dim()]

    @functools.cached_property
    def host_mutations(self) -> list[fx.Node]:
        return [n for n in self.mutations if on_cpu(n)]

    @functools.cached_property
    def device(self) -> torch.device:
        """Of the graph's tensors; the first one where they do not say."""
        vals = (n.meta.get("val") for n in self.module.graph.nodes)
        found = (t.device for v in vals for t in members(v) if t.device.type == "neuron")
        return torch.device("neuron", next(found, torch.device("neuron")).index or 0)

    @functools.cached_property
    def saved(self) -> list[fx.Node]:
        """A backward graph's inputs that the forward pass made for it."""
        if self.kind != "backward":
            return []
        ours = ("primals", "tangents")
        return [n for n in self.inputs if _is_tensor(n) and not n.name.startswith(ours)]

    def symbols(self, given: Mapping[fx.Node, Any]) -> graph.Symbols:
        """The values of the symbolic sizes when the inputs are these (see `eager.call`)."""
        bound: dict[Any, Any] = {}
        for node, value in given.items():
            if node not in self.runtime_sizes:
                told = getattr(value, "sizes", ()) if _is_tensor(node) else value
                graph.bind(bound, node.meta["val"], told)
        return bound

    @functools.cached_property
    def fingerprint(self) -> bytes:
        """A hash of all that its programs depend on in the graph; the same in every process."""
        digest = hashlib.blake2b(digest_size=20)
        saved = [i for i, n in enumerate(self.inputs) if n in self.saved]
        digest.update(f"{self.kind} {saved}\n".encode())
        for line in _lines(self.module):
            digest.update(line)
        return digest.digest()


def _is_tensor(node: fx.Node) -> bool:
    return isinstance(node.meta["val"], torch.Tensor)


def members(val: Any) -> Iterator[torch.Tensor]:
    """The tensors that a node's metadata speaks of."""
    for member in val if isinstance(val, (list, tuple)) else (val,):
        if isinstance(member, torch.Tensor):
            yield member


def _is_update(node: Any) -> bool:
    return node.target is aten.copy_.default and node.args[0].op == "placeholder"


def on_cpu(node: Any) -> bool:
    val = node.meta.get("val") if isinstance(node, fx.Node) else None
    return isinstance(val, torch.Tensor) and val.device.type == "cpu"


def _storage(node: fx.Node) -> StorageWeakRef:
    return StorageWeakRef(node.meta["val"].untyped_storage())


def _lines(module: fx.GraphModule) -> Iterator[bytes]:
    numbers = {node: f"%{i}" for i, node in enumerate(module.graph.nodes)}
    for node in module.graph.nodes:
        target = "" if node.op == "placeholder" else str(node.target)
        args, kwargs = fx.map_arg((node.args, node.kwargs), lambda n: _Name(numbers[n]))
        yield f"{node.op} {target} {args} {kwargs} {_told(node.meta.get('val'))}\n".encode()
        if node.op == "get_attr":
            yield from _held(operator.attrgetter(str(node.target))(module))


class _Name(str):
    __repr__ = str.__str__


def _held(value: Any) -> Iterator[bytes]:
    if isinstance(value, fx.GraphModule):
        yield from _lines(value)
    elif isinstance(value, torch.Tensor):
        plain = value.detach().cpu().contiguous()
        yield f"{_told(plain)}\n".encode()
        yield plain.flatten().view(torch.uint8).numpy().tobytes()
    else:
        yield repr(value).encode()


def _told(val: Any) -> str:
    if isinstance(val, torch.Tensor):
        shape, strides = tuple(val.shape), tuple(val.stride())
        return f"{val.dtype} {shape} {strides} {val.storage_offset()} {val.device.type}"
    if isinstance(val, (list, tuple)):
        return f"[{', '.join(map(_told, val))}]"
    return str(val)
