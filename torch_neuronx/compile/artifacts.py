"""Our part of torch.compiler.save_cache_artifacts and load_cache_artifacts.

Each program of a graph is handed to PyTorch's collection as the two entries that the disk cache
has of it: the call's and the executable's. Loading writes them into the cache folder, where the
next process finds them. Registered with torch when the device is, so that a fresh process can load.
"""

from __future__ import annotations

import warnings

from torch.compiler._cache import CacheArtifact, CacheArtifactFactory, CacheArtifactManager


class NeuronArtifact(CacheArtifact):
    @staticmethod
    def type() -> str:
        return "neuron"

    def populate_cache(self) -> None:
        from torch_neuronx.runtime import cache

        kind, _, key = self.key.partition("/")
        cache.put(kind, key, self.content)


def register() -> None:
    CacheArtifactFactory.register(NeuronArtifact)


# PyTorch's collection is in memory, and a process may meet any number of shapes.
_LIMIT = 2**30
_recorded = 0


def record(entries: dict[tuple[str, str], bytes]) -> None:
    """Adds packed cache entries, by kind and key, to what save_cache_artifacts will return."""
    global _recorded
    if _recorded > _LIMIT:
        return
    for (kind, key), packed in entries.items():
        CacheArtifactManager.record_artifact(NeuronArtifact.type(), f"{kind}/{key}", packed)
        _recorded += len(packed)
    if _recorded > _LIMIT:
        warnings.warn(
            "torch.compiler.save_cache_artifacts() will carry the first GiB of this process's "
            "programs; the cache folder has them all.",
            stacklevel=2,
        )
