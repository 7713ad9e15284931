"""Greedy generation with a dynamic cache, a static one, and a compiled decode step.

With a static cache every step has the same shapes: one set of programs eagerly, one graph compiled,
which transformers makes by itself on neuron. All must say what the CPU says. The weights are random
unless `--model` names a folder, for instance a checkpoint of finetune_trainer.py.
"""

import argparse
import copy
import time

import corpus
import summary
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

# What generate() is told, by the name that is printed.
CACHES: dict[str, dict[str, object]] = {
    "dynamic cache": {},
    "static cache, eager": {"cache_implementation": "static", "disable_compile": True},
    "static cache, compiled": {"cache_implementation": "static"},
}


def model_of(args: argparse.Namespace, vocabulary: int) -> LlamaForCausalLM:
    if args.model:
        return AutoModelForCausalLM.from_pretrained(args.model, dtype=torch.float32).eval()
    torch.manual_seed(args.seed)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocabulary,
            hidden_size=args.width,
            intermediate_size=3 * args.width,
            num_hidden_layers=args.layers,
            num_attention_heads=8,
            num_key_value_heads=4,
            # At the usual 0.02 a random model says one token for ever.
            initializer_range=0.1,
            eos_token_id=None,
        )
    )
    return model.eval()


def timed(model: LlamaForCausalLM, inputs: dict, tokens: int, **options) -> tuple[list, float]:
    """The new tokens, and how many a second there were once the programs existed."""
    options = {"max_new_tokens": tokens, "min_new_tokens": tokens, "do_sample": False, **options}
    inputs = {name: tensor.to(model.device) for name, tensor in inputs.items()}
    model.generate(**inputs, **options)
    start = time.perf_counter()
    said = model.generate(**inputs, **options)[:, inputs["input_ids"].shape[1] :].tolist()
    return said, len(said) * tokens / (time.perf_counter() - start)


def main(argv: list[str] | None = None) -> dict[str, list]:
    args = parser().parse_args(argv)
    texts = corpus.articles()
    tokenizer = corpus.tokenizer_for(texts, args.vocabulary)
    tokenizer.padding_side = "left"
    prompts = ["The if statement is used for", "An object is"][: args.batch]
    inputs = tokenizer(prompts, return_tensors="pt", padding=True, return_token_type_ids=False)
    model = model_of(args, len(tokenizer))

    said: dict[str, list] = {}
    rows = {}
    said["CPU"], speed = timed(model, inputs, args.tokens)
    rows["CPU, dynamic cache"] = f"{speed:.0f} tokens/s"
    if args.device != "cpu":
        model = copy.deepcopy(model).to(args.device)
        for name, options in CACHES.items():
            said[name], speed = timed(model, inputs, args.tokens, **options)
            same = "as CPU" if said[name] == said["CPU"] else "NOT AS CPU"
            rows[name] = f"{speed:.0f} tokens/s, {same}"
    for prompt, tokens in zip(prompts, said["CPU"], strict=True):
        print(f"{prompt}|{tokenizer.decode(tokens)}\n")
    summary.show(args.device, rows)
    return said


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    made.add_argument("--device", choices=("neuron", "cpu"), default="neuron")
    made.add_argument("--model", default="", help="folder of a model with corpus.py's tokenizer")
    numbers = {"tokens": 64, "batch": 2, "vocabulary": 2048, "width": 256, "layers": 4, "seed": 0}
    for name, value in numbers.items():
        made.add_argument(f"--{name}", type=type(value), default=value, help=f"default {value}")
    return made


if __name__ == "__main__":
    main()
