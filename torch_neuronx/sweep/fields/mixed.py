"""Fields of configurations of models that take several kinds of input: data only, see `fields`."""

from __future__ import annotations

from typing import Any

FIELDS: dict[str, dict[str, Any]] = {}
