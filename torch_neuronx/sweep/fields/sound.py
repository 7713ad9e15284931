"""Fields of configurations of models that hear or speak, and of time series: data only."""

from __future__ import annotations

from typing import Any

FIELDS: dict[str, dict[str, Any]] = {}
