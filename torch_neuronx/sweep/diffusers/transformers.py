"""What reduction by name does not get right in Diffusers' transformers, by class: data only.

FIELDS: arguments of the constructor. INPUTS: arguments of forward in place of those made by name; a
callable gets the model, and None removes one.
"""

from __future__ import annotations

from typing import Any

FIELDS: dict[str, dict[str, Any]] = {
    "ChromaTransformer2DModel": {"axes_dims_rope": (4, 2, 2), "num_single_layers": 1},
    "FluxTransformer2DModel": {"axes_dims_rope": (4, 2, 2), "num_single_layers": 1},
    "QwenImageTransformer2DModel": {"axes_dims_rope": (4, 2, 2)},
    "SD3Transformer2DModel": {"caption_projection_dim": 16},
}

INPUTS: dict[str, dict[str, Any]] = {}
