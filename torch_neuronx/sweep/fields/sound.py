"""Fields of configurations of models that hear or speak, and of time series: data only."""

from __future__ import annotations

from typing import Any

FIELDS: dict[str, dict[str, Any]] = {
    "autoformer": {
        "prediction_length": 8,
        "context_length": 16,
        "label_length": 4,
        "moving_average": 5,
        "num_time_features": 2,
    },
    "clvp": {"text_config": {"head_dim": 8}},
    "dia_decoder": {"num_channels": 9},
    "informer": {
        "prediction_length": 8,
        "context_length": 16,
        "lags_sequence": [1, 2, 3],
        "num_time_features": 2,
    },
}
