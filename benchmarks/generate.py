"""Tokens per second of transformers' generate with a static cache: 200 tokens, greedily.

Four ways to run the same decode steps, alternating in one process with the same number of threads:
neuron eager, neuron compiled (what generate does by itself), CPU eager, CPU compiled by Inductor.
A run is the whole call of `generate`, the prompt included, and ends when its tokens are on the
host; the first of each way, which compiles, is not counted. Exits with 0 only when all tokens are
equal.

    python benchmarks/generate.py [--rounds 5] [--tokens 200] [--threads 1] [--batch 1]
"""

import argparse
import statistics
import sys
import time

import torch
import transformers

PROMPT = 16
CONFIG = {
    "vocab_size": 4096,
    "hidden_size": 256,
    "intermediate_size": 688,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
}


def ways():
    """Name -> (device, options of generate)."""
    inductor = transformers.CompileConfig(backend="inductor", mode="default", dynamic=False)
    inductor._compile_all_devices = True
    return {
        "neuron, eager": ("neuron", {"disable_compile": True}),
        "neuron, compiled": ("neuron", {}),
        "CPU, eager": ("cpu", {"disable_compile": True}),
        "CPU, Inductor": ("cpu", {"compile_config": inductor}),
    }


def models():
    """The same weights on each device."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(**CONFIG, eos_token_id=None, pad_token_id=0)
    model = transformers.LlamaForCausalLM(config).eval()
    other = transformers.LlamaForCausalLM(config).eval()
    other.load_state_dict(model.state_dict())
    return {"cpu": model, "neuron": other.to("neuron")}


def generate(model, prompt, tokens, options):
    """-> (tokens on the host, seconds)"""
    how = {"max_new_tokens": tokens, "do_sample": False, "cache_implementation": "static"}
    start = time.perf_counter()
    ids = prompt.to(model.device)
    result = model.generate(ids, attention_mask=torch.ones_like(ids), **how, **options).cpu()
    return result, time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--batch", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    by_device = models()
    generator = torch.Generator().manual_seed(1)
    size = (arguments.batch, PROMPT)
    prompt = torch.randint(1, CONFIG["vocab_size"], size, generator=generator)

    results, first, seconds = {}, {}, {name: [] for name in ways()}
    for round_ in range(arguments.rounds + 1):
        for name, (device, options) in ways().items():
            result, taken = generate(by_device[device], prompt, arguments.tokens, options)
            if round_ == 0:
                results[name], first[name] = result, taken
            else:
                seconds[name].append(taken)

    equal = all(torch.equal(result, results["CPU, eager"]) for result in results.values())
    print(f"{arguments.tokens} tokens, batch {arguments.batch}, {arguments.threads} threads")
    print("| way | first call, s | tokens/s | ms per token |\n|---|---|---|---|")
    for name in ways():
        median = statistics.median(seconds[name])
        rate, each = arguments.batch * arguments.tokens / median, 1e3 * median / arguments.tokens
        print(f"| {name} | {first[name]:.1f} | {rate:.0f} | {each:.2f} |")
    print("tokens equal:", "yes" if equal else "NO")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
