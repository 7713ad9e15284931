"""What reduction by name does not get right in Diffusers' autoencoders, by class: data only.

FIELDS: arguments of the constructor. INPUTS: arguments of forward in place of those made by name; a
callable gets the model, and None removes one.
"""

from __future__ import annotations

from typing import Any

FIELDS: dict[str, dict[str, Any]] = {}

INPUTS: dict[str, dict[str, Any]] = {}
