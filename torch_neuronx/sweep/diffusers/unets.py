"""What reduction by name does not get right in Diffusers' UNets, ControlNets and others: data only.

FIELDS: arguments of the constructor. INPUTS: arguments of forward in place of those made by name; a
callable gets the model, and None removes one.
"""

from __future__ import annotations

from typing import Any

FIELDS: dict[str, dict[str, Any]] = {
    "UNet2DConditionModel": {
        "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
        "up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D"),
        "block_out_channels": (16, 32),
    },
}

INPUTS: dict[str, dict[str, Any]] = {}
