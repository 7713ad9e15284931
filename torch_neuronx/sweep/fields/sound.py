"""Fields of configurations of models that hear or speak, and of time series: data only."""

from __future__ import annotations

from typing import Any

FIELDS: dict[str, dict[str, Any]] = {
    "kyutai_speech_to_text": {"num_codebooks": 4},
    "mimi": {"upsample_groups": 32},
    "mimi_decoder": {"upsample_groups": 32},
    "moonshine_streaming": {"num_key_value_heads": 4},
    "muse_spark_audio": {"num_hidden_layers": 4, "patch_sizes": [4, 3, 2, 2]},
    "pocket_tts_audio_tokenizer": {"upsample_groups": 32},
    "pocket_tts_audio_tokenizer_decoder": {"upsample_groups": 32},
    "qwen3_asr_encoder": {"n_window": 4},
    "time_series_transformer": {"prediction_length": 4, "num_time_features": 1},
}
