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
    "clap_audio_model": {"hidden_size": 256, "num_mel_bins": 32, "window_size": 2},
    "clvp_encoder": {"num_attention_heads": 1},
    "dac": {"encoder_hidden_size": 8},
    "dia_decoder": {"num_channels": 9},
    "fastspeech2_conformer_hifigan": {"model_in_dim": 16},
    "fun_asr_nano": {"adaptor_config": {"intermediate_size": 8}},
    "informer": {
        "prediction_length": 8,
        "context_length": 16,
        "lags_sequence": [1, 2, 3],
        "num_time_features": 2,
    },
    "kyutai_speech_to_text": {"num_codebooks": 4, "codec_config": {"num_quantizers": 4}},
    "moonshine_streaming": {"num_key_value_heads": 4},
    "muse_spark_audio": {"num_hidden_layers": 4, "patch_sizes": [5, 4, 2, 2]},
    "neucodec": {"quantization_dim": 64},
    "pop2piano": {"composer_vocab_size": 1},
    "speech-encoder-decoder": {"pad_token_id": 0},
    "speecht5_hifigan": {"model_in_dim": 16},
    "time_series_transformer": {"prediction_length": 4, "num_time_features": 1},
    "timesfm": {"context_length": 64, "horizon_length": 8},
    "timesfm2_5": {"context_length": 64, "horizon_length": 8, "output_quantile_len": 8},
    "wav2vec2-bert": {"vocab_size": 128},
    "wav2vec2-conformer": {"vocab_size": 128},
    "xcodec2": {"quantization_dim": 64},
}
