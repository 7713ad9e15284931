"""Small configurations of Transformers' models: every field reduced by name, nested ones included.

Only fields that a configuration declares are set, so that those it derives (layer types, rotary
tables) follow from the reduced ones.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from torch_neuronx.sweep import rules
from torch_neuronx.sweep.fields import FIELDS

_TOKEN = re.compile(
    r".*_(token|eos|bos)(_id|_index|_token_id)s?|.*_(id|index)_token|(image|video|audio)_token"
)
_WHOLE = rules.LEVELS - 1  # the level at which sizes are the model's own
_FIRST_SPECIAL = 3  # tokens 0 to 2 are pad, begin and end
SPECIAL = 48  # special tokens are below, ordinary ones at or above it


def configuration(config_class: type, level: int = 0) -> Any:
    """An instance of a Transformers configuration class with few layers and narrow ones; fewer
    fields are reduced at a higher `level`, see `rules`.

    Raises whatever the class raises for values that it refuses.
    """
    return config_class(**arguments(config_class, level))


def arguments(config_class: type, level: int = 0) -> dict[str, Any]:
    """What `configuration` passes: reduced fields, overrides of the model type, nested ones."""
    defaults = _defaults(config_class)
    of_type = FIELDS.get(getattr(config_class, "model_type", ""), {})
    given = {name: rules.reduced(name, value, level) for name, value in defaults.items()}
    given.update(_full_heads(config_class, defaults, level))
    if level < _WHOLE:
        given.update(_tokens(defaults))
        given.update(_kinds_of_layers(config_class, defaults))
    given.update(_rotary_sections(config_class, {**given, **of_type}))
    changed = {name: value for name, value in given.items() if value != defaults.get(name)}
    # As in a configuration's file, which has no tuples.
    changed = {n: list(v) if isinstance(v, tuple) else v for n, v in changed.items()}
    known = dict(of_type)
    for key, spec in (getattr(config_class, "sub_configs_defaults", None) or {}).items():
        nested = _nested(spec, known.pop(key, {}), level)
        if nested is not None:
            changed[key] = nested
    return {**changed, **known}


def _defaults(config_class: type) -> dict[str, Any]:
    found = {}
    for field in dataclasses.fields(config_class):
        if field.default is not dataclasses.MISSING:
            found[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            found[field.name] = field.default_factory()
    return found


def _nested(spec: Any, known: dict[str, Any], level: int) -> Any:
    """The reduced configuration that stands for a sub-configuration's default; `known`: what its
    parent's override says of it, which may be another model type."""
    from transformers import CONFIG_MAPPING, PreTrainedConfig

    if "model_type" in known:
        config_class = CONFIG_MAPPING[known["model_type"]]
        known = {name: value for name, value in known.items() if name != "model_type"}
        return config_class(**{**arguments(config_class, level), **known})
    if spec.optional:
        return None
    config_class = spec.config_class
    if not issubclass(config_class, PreTrainedConfig):
        config_class = spec.get_config_class(spec.model_type)
    defaults = {name: rules.reduced(name, value, level) for name, value in spec.init_kwargs.items()}
    taps = _taps(config_class, spec.init_kwargs) if level < _WHOLE else {}
    return config_class(**{**defaults, **arguments(config_class, level), **taps, **known})


def _taps(config_class: type, given: dict[str, Any]) -> dict[str, Any]:
    """For a backbone of layers of one kind: one layer for each that something is taken from."""
    if "num_hidden_layers" not in _defaults(config_class):
        return {}
    if taken := given.get("out_indices"):
        return {"num_hidden_layers": len(taken), "out_indices": list(range(1, len(taken) + 1))}
    if taken := given.get("out_features"):
        stages = [f"stage{number}" for number in range(1, len(taken) + 1)]
        return {"num_hidden_layers": len(taken), "out_features": stages}
    return {}


def _full_heads(config_class: type, defaults: dict[str, Any], level: int) -> dict[str, int]:
    """Models that have as many heads of keys as of queries keep that."""
    heads = _field(config_class, "num_attention_heads")
    keys = _field(config_class, "num_key_value_heads")
    if defaults.get(keys) is not None and defaults.get(keys) == defaults.get(heads):
        return {keys: rules.reduced(heads, defaults[heads], level)}
    return {}


def _rotary_sections(config_class: Any, given: dict[str, Any]) -> dict[str, Any]:
    """For positions of three axes (time, height, width): how many of a head's rotary frequencies,
    half as many as its rotary dimensions, belong to each."""
    if "mrope_section" not in getattr(config_class, "ignore_keys_at_rope_validation", ()):
        return {}
    try:
        parameters = config_class().rope_parameters
    except Exception:  # it has no default, so there is nothing to go by
        return {}
    if "rope_theta" not in parameters:  # each kind of layer has its own
        return {}
    heads = given.get(_field(config_class, "num_attention_heads"), rules.HEADS)
    width = given.get("qk_rope_head_dim") or given.get("head_dim") or given["hidden_size"] // heads
    half = int(width * parameters.get("partial_rotary_factor", 1)) // 2
    side = max(1, half // 4)
    return {"rope_parameters": {**parameters, "mrope_section": [half - 2 * side, side, side]}}


# Fields that say for each layer what it is.
_PER_LAYER = ("layer_types", "mlp_layer_types", "indexer_types")
_MOST_LAYERS = 6


def _kinds_of_layers(config_class: Any, defaults: dict[str, Any]) -> dict[str, Any]:
    """One layer of each kind that the model has by default, in their order; at least `LAYERS`."""
    names = [_field(config_class, name) for name in _PER_LAYER]
    names = [name for name in names if name in defaults]
    depth = _field(config_class, "num_hidden_layers")
    if not names:
        return {}
    try:
        whole = config_class()
    except Exception:  # it has no default, so there is nothing to go by
        return {}
    found = {name: getattr(whole, name, None) for name in names}
    lists = {name: list(kinds) for name, kinds in found.items() if isinstance(kinds, (list, tuple))}
    if not lists or len({len(kinds) for kinds in lists.values()}) != 1:
        return {}
    layers = list(zip(*lists.values(), strict=True))
    chosen = sorted({kind: at for at, kind in reversed(list(enumerate(layers)))}.values())
    chosen = chosen[:_MOST_LAYERS]
    for at in range(len(layers)):
        if len(chosen) < rules.LAYERS and at not in chosen:
            chosen = sorted([*chosen, at])
    picked = {name: [kinds[at] for at in chosen] for name, kinds in lists.items()}
    return {**picked, **({depth: len(chosen)} if depth in defaults else {})}


def _field(config_class: Any, name: str) -> str:
    """The field that a configuration keeps under a common name."""
    return (getattr(config_class, "attribute_map", None) or {}).get(name, name)


def _tokens(defaults: dict[str, Any]) -> dict[str, Any]:
    """Special tokens within the reduced vocabulary, each its own."""
    changed: dict[str, Any] = {}
    following = _FIRST_SPECIAL
    for name, value in defaults.items():
        if name == "pad_token_id":
            changed[name] = 0
        elif not _TOKEN.fullmatch(name) or not isinstance(value, int):
            continue
        elif value >= _FIRST_SPECIAL:
            changed[name] = following
            following += 1
    return changed
