"""Fields of configurations of models that hear or speak, and of time series: data only."""

from __future__ import annotations

from typing import Any

FIELDS: dict[str, dict[str, Any]] = {
    "kyutai_speech_to_text": {"num_codebooks": 4},
    "moonshine_streaming": {"num_key_value_heads": 4},
    "muse_spark_audio": {"num_hidden_layers": 4, "patch_sizes": [5, 4, 2, 2]},
    "neucodec": {"quantization_dim": 64},
    "speech-encoder-decoder": {"pad_token_id": 0},
    "time_series_transformer": {"prediction_length": 4, "num_time_features": 1},
    "timesfm": {"context_length": 64, "horizon_length": 8},
    "timesfm2_5": {"context_length": 64, "horizon_length": 8, "output_quantile_len": 8},
    "xcodec2": {"quantization_dim": 64},
}
