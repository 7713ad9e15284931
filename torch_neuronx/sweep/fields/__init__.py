"""What reduction by name does not get right in Transformers' configurations, per model type.

A model type's fields hold wherever its configuration occurs. A dict for one that is nested says
what else is known of it.
"""

from __future__ import annotations

from typing import Any

from torch_neuronx.sweep.fields import mixed, sound, text, vision

FIELDS: dict[str, dict[str, Any]] = {
    **text.FIELDS,
    **vision.FIELDS,
    **sound.FIELDS,
    **mixed.FIELDS,
}
