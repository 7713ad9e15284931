"""Small models with random weights, and a tokenizer that needs no file of anyone's."""

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

SOME_WORDS = """
the a device tensor model of in to and is runs reads writes adds keeps on off red green blue
one two three four five six seven yes no maybe question answer user assistant
"""
WORDS = SOME_WORDS.split()
SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")
VOCABULARY = 64


def llama(seed=0, layers=2, width=32, **options):
    """The same weights for every call with these arguments."""
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        **options,
    )
    return transformers.LlamaForCausalLM(config)


def tokens(rows, length, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(len(SPECIAL), VOCABULARY, (rows, length), generator=generator)


def tokenizer():
    """A token for each of `WORDS`, and four special ones."""
    vocabulary = {word: i for i, word in enumerate((*SPECIAL, *WORDS))}
    assert len(vocabulary) <= VOCABULARY
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=words,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
    )


def sentence(seed, length=6):
    generator = torch.Generator().manual_seed(seed)
    picked = torch.randint(len(WORDS), (length,), generator=generator)
    return " ".join(WORDS[i] for i in picked)


ENCODER_LAYERS, ENCODER_WIDTH = 2, 32
ENCODER_TERMS = ENCODER_LAYERS * 6 * ENCODER_WIDTH  # of the products of a layer: 4 wide, 1 twice


def sentence_encoder(folder):
    """Saves a BERT with mean pooling, as sentence-transformers loads it; returns `folder`."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules

    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=ENCODER_WIDTH,
        intermediate_size=2 * ENCODER_WIDTH,
        num_hidden_layers=ENCODER_LAYERS,
        num_attention_heads=4,
        max_position_embeddings=32,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    transformers.BertModel(config).save_pretrained(folder / "bert")
    tokenizer().save_pretrained(folder / "bert")
    bert = modules.Transformer(str(folder / "bert"), max_seq_length=16)
    pooling = modules.Pooling(ENCODER_WIDTH)
    SentenceTransformer(modules=[bert, pooling], device="cpu").save(str(folder / "encoder"))
    return folder / "encoder"
