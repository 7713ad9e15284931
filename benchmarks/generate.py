"""Tokens per second of transformers' generate with a static cache: 200 tokens, greedily.

Four ways to run the same decode steps, alternating in one process with the same number of threads:
neuron eager, neuron compiled (what generate does by itself), CPU eager, CPU compiled by Inductor.
A run is the whole call of `generate`, the prompt included, and ends when its tokens are on the
host; the first of each way, which compiles, is not counted. "Processor" is the time of all threads,
which other processes on the machine disturb less. Exits with 0 only when all tokens are equal.

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
    """-> (tokens on the host, seconds, seconds of processor time)"""
    how = {"max_new_tokens": tokens, "do_sample": False, "cache_implementation": "static"}
    start, busy = time.perf_counter(), time.process_time()
    mask = torch.ones_like(prompt)
    result = model.generate(prompt, attention_mask=mask, **how, **options).cpu()
    return result, time.perf_counter() - start, time.process_time() - busy


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

    results, first = {}, {}
    seconds, processor = ({name: [] for name in ways()} for _ in range(2))
    for round_ in range(arguments.rounds + 1):
        for name, (device, options) in ways().items():
            result, taken, busy = generate(by_device[device], prompt, arguments.tokens, options)
            if round_ == 0:
                results[name], first[name] = result, taken
            else:
                seconds[name].append(taken)
                processor[name].append(busy)

    equal = all(torch.equal(result, results["CPU, eager"]) for result in results.values())
    print(f"{arguments.tokens} tokens, batch {arguments.batch}, {arguments.threads} threads")
    print("| way | first call, s | tokens/s | ms per token | processor, ms per token |")
    print("|---|---|---|---|---|")
    for name in ways():
        each, busy = (
            1e3 * statistics.median(times[name]) / arguments.tokens
            for times in (seconds, processor)
        )
        rate = 1e3 * arguments.batch / each
        print(f"| {name} | {first[name]:.1f} | {rate:.0f} | {each:.2f} | {busy:.2f} |")
    print("tokens equal:", "yes" if equal else "NO")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
