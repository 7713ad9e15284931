"""Tiny models with random weights and a tokenizer made from text, saved as a hub's would be.

`save(kind, folder)` leaves there what `from_pretrained` and `pipeline` read: configuration,
safetensors, generation defaults and tokenizer.
"""

import pydoc_data.topics

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

SPECIAL = ("<pad>", "<s>", "</s>", "<mask>", "<unk>")
PAD, BOS, EOS, MASK, UNKNOWN = range(len(SPECIAL))
VOCABULARY = 300
TEXTS = (
    "Raised when a name is not found.",
    "A list is mutable; a tuple is not, and cannot grow.",
)

_DECODER = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "pad_token_id": PAD,
    "bos_token_id": BOS,
    "eos_token_id": EOS,
}
_GPT2 = {
    "vocab_size": VOCABULARY,
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 4,
    "n_positions": 256,
    "pad_token_id": PAD,
    "bos_token_id": BOS,
    "eos_token_id": EOS,
}
_BERT = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 128,
    "pad_token_id": PAD,
}
_T5 = {
    "vocab_size": VOCABULARY,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 64,
    "num_layers": 2,
    "num_heads": 4,
    "pad_token_id": PAD,
    "eos_token_id": EOS,
    "decoder_start_token_id": PAD,
}

KINDS = {
    "llama": ("LlamaForCausalLM", "LlamaConfig", _DECODER),
    "qwen": ("Qwen3ForCausalLM", "Qwen3Config", {**_DECODER, "head_dim": 8}),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", _GPT2),
    "bert": ("BertForMaskedLM", "BertConfig", _BERT),
    "bert_classifier": ("BertForSequenceClassification", "BertConfig", {**_BERT, "num_labels": 3}),
    "t5": ("T5ForConditionalGeneration", "T5Config", _T5),
}


def build(kind, seed=0, **changes):
    """A model on the CPU in evaluation mode."""
    model_class, config_class, values = KINDS[kind]
    torch.manual_seed(seed)
    config = getattr(transformers, config_class)(**{**values, **changes})
    return getattr(transformers, model_class)(config).eval()


def tokenizer():
    """Byte-level BPE, trained on a few of Python's help texts."""
    bpe = Tokenizer(models.BPE(unk_token="<unk>"))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(list(pydoc_data.topics.topics.values())[:5], trainer)
    bpe.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", BOS)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        mask_token="<mask>",
        unk_token="<unk>",
        padding_side="left",
        model_max_length=128,
    )


def save(kind, folder, *, seed=0, max_shard_size="5GB", **changes):
    """Writes model and tokenizer into `folder`; returns the model, on the CPU."""
    model = build(kind, seed, **changes)
    model.save_pretrained(folder, max_shard_size=max_shard_size)
    tokenizer().save_pretrained(folder)
    return model
