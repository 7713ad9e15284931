"""An operator call as named pieces of text: the parts of its key that a person can compare.

Used by metrics.py to say what differed between two calls of one op. Reads
torch_neuronx.eager.call's classes by their fields; values of run-time numbers are left out, for
they are no part of the key.
"""

from typing import Any


def describe(call: Any) -> dict[str, str]:
    """Argument name -> text, plus the storages where they are not what the tensors show."""
    if call is None:
        return {}
    names = [argument.name for argument in call.op._schema.arguments]
    parts = {name: _text(value) for name, value in zip(names, call.args, strict=False)}
    parts["storages"] = ", ".join(map(_storage, call.bases))
    aliases = _sharing(names, call.args)
    if aliases:
        parts["sharing storage"] = aliases
    return parts


def _text(value: Any) -> str:
    if hasattr(value, "sizes"):
        return _tensor(value)
    if hasattr(value, "wrapped"):
        return f"{_dtype(value)} number" + ("" if value.wrapped else " (0-d tensor)")
    if hasattr(value, "length"):
        return f"{value.length} {_dtype(value)} numbers"
    if isinstance(value, (list, tuple)) and any(hasattr(item, "sizes") for item in value):
        return "[" + ", ".join(map(_text, value)) + "]"
    return str(value)


def _tensor(spec: Any) -> str:
    text = f"{_dtype(spec)}{list(spec.sizes)}"
    if tuple(spec.strides) != _dense(spec.sizes):
        text += f" strides {list(spec.strides)}"
    if spec.requires_offset:
        text += " view"
    return text + (" conj" if spec.conj else "") + (" neg" if spec.neg else "")


def _storage(base: Any) -> str:
    text = f"{_dtype(base)}{list(base.shape)}"
    return text if base.initialized else f"{text} (unwritten)"


def _dtype(spec: Any) -> str:
    return str(spec.dtype).removeprefix("torch.")


def _dense(sizes: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def _sharing(names: list[str], args: tuple) -> str:
    users: dict[int, list[str]] = {}
    for name, value in zip(names, args, strict=False):
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if hasattr(item, "base"):
                users.setdefault(item.base, []).append(name)
    return "; ".join(", ".join(group) for group in users.values() if len(group) > 1)
