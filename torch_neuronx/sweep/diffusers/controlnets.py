"""What reduction by name does not get right in Diffusers' ControlNets: data only."""

from __future__ import annotations

from typing import Any

FIELDS: dict[str, dict[str, Any]] = {
    "FluxControlNetModel": {"axes_dims_rope": [4, 2, 2], "num_single_layers": 1},
}

INPUTS: dict[str, dict[str, Any]] = {}
