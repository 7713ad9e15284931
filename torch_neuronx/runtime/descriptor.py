"""Programs as JSON: what the disk keeps of torch_neuronx.eager.program's classes.

The executable itself is not part of it: `encode` leaves the name of its entry in its place and
`decode` asks for it. Every value comes back equal and of the same type, tuples as tuples. Used by
cache.py; a program with a value that has no JSON form is a TypeError, and is not cached.
"""

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import torch

_PROGRAMS = ("Launch", "Resize", "Host", "Composite")
_PLAIN = (type(None), bool, int, float, str)
_TORCH = (torch.dtype, torch.memory_format, torch.layout)


def encode(program: Any, executable_key: str | None) -> bytes:
    """The JSON of a program whose executable is kept under `executable_key`."""
    fields = {f.name: getattr(program, f.name) for f in dataclasses.fields(program)}
    if "executable" in fields:
        fields["executable"] = None
    tree = {
        "program": type(program).__name__,
        "executable": executable_key,
        "fields": {name: _to_tree(value) for name, value in fields.items()},
    }
    return json.dumps(tree, separators=(",", ":")).encode()


def decode(text: bytes, load: Callable[[str], Any]) -> Any | None:
    """The program; `load` turns its executable's key into the executable. None where that
    answers None."""
    from torch_neuronx.eager import program as programs

    tree = json.loads(text)
    if tree["program"] not in _PROGRAMS:
        raise ValueError(f"unknown program {tree['program']!r}")
    fields = {name: _from_tree(value) for name, value in tree["fields"].items()}
    if tree["executable"] is not None:
        fields["executable"] = load(tree["executable"])
        if fields["executable"] is None:
            return None
    return getattr(programs, tree["program"])(**fields)


def executable_key(text: bytes) -> str | None:
    """The key of the executable that an encoded program names."""
    key = json.loads(text)["executable"]
    return None if key is None else str(key)


def _to_tree(value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    if type(value) is list:
        return [_to_tree(item) for item in value]
    if isinstance(value, tuple):  # torch.Size included
        return {"tuple": [_to_tree(item) for item in value]}
    if type(value) is complex:
        return {"complex": [value.real, value.imag]}
    if isinstance(value, _TORCH):
        return {"torch": str(value).removeprefix("torch.")}
    raise TypeError(f"{type(value).__name__} has no form in the cache")


def _from_tree(tree: Any) -> Any:
    if isinstance(tree, list):
        return [_from_tree(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    ((form, content),) = tree.items()
    return _FORMS[form](content)


_FORMS: dict[str, Callable[[Any], Any]] = {
    "tuple": lambda items: tuple(_from_tree(item) for item in items),
    "complex": lambda parts: complex(*parts),
    "torch": lambda name: getattr(torch, name),
}
