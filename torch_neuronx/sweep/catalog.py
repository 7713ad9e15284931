"""What there is to sweep: one Architecture per model class, from what the installed libraries list.

Listing imports no model.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from torch_neuronx.sweep import libraries

TEXT_GENERATION = "CAUSAL_LM"
BASE = "MODEL"


@dataclass(frozen=True)
class Architecture:
    """A model class. `family`: model type, module of timm, or folder of Diffusers. `tasks`: the
    task heads that list it, by the names of Transformers' mappings. `rank`: order of a sweep."""

    library: str
    family: str
    model: str
    tasks: tuple[str, ...] = ()
    rank: int = 0

    @property
    def name(self) -> str:
        return f"{self.library}/{self.family}/{self.model}"

    @property
    def generates_text(self) -> bool:
        return TEXT_GENERATION in self.tasks


LIBRARIES = ("transformers", "timm", "diffusers")


def architectures(library: str, all_variants: bool = False) -> list[Architecture]:
    """Of one library, in the order in which a sweep takes them."""
    if library == "transformers":
        found = _transformers()
    elif library == "timm":
        from torch_neuronx.sweep.timm_models import architectures as timm_architectures

        found = timm_architectures(all_variants)
    else:
        from torch_neuronx.sweep.diffusers import architectures as diffusers_architectures

        found = diffusers_architectures()
    return sorted(found, key=lambda a: a.rank)


def _transformers() -> Iterable[Architecture]:
    libraries.load("transformers")
    from transformers.models.auto import modeling_auto

    tasks: dict[tuple[str, str], list[str]] = {}
    for mapping, task in _mappings(vars(modeling_auto)):
        for family, classes in getattr(modeling_auto, mapping).items():
            for model in [classes] if isinstance(classes, str) else classes:
                tasks.setdefault((family, model), []).append(task)
    seen: set[str] = set()
    for (family, model), names in sorted(tasks.items(), key=lambda item: _rank(item[1])):
        rank = _rank(names)
        # After text generation, the first class of each family comes before the other heads.
        if rank and family not in seen:
            rank = 1
        seen.add(family)
        yield Architecture("transformers", family, model, tuple(sorted(set(names))), rank)


def _rank(tasks: Iterable[str]) -> int:
    if TEXT_GENERATION in tasks:
        return 0
    return 2 if BASE in tasks else 3


def _mappings(names: Iterable[str]) -> list[tuple[str, str]]:
    found = []
    for name in names:
        if name.startswith("MODEL_") and name.endswith("MAPPING_NAMES"):
            task = name.removesuffix("_MAPPING_NAMES").removeprefix("MODEL_FOR_")
            found.append((name, task))
    return found
