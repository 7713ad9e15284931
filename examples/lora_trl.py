"""Teaches a small Llama to answer `help("topic")`: TRL's SFTTrainer with a LoRA adapter of PEFT.

First all weights learn the text (`--base` names a folder with a model to take instead), then only
the adapter learns questions and answers. The adapter is saved, merged into the base, and the merged
model asked on the CPU.
"""

import argparse
import statistics
from pydoc_data import topics

import corpus
import summary
import torch
from datasets import Dataset
from peft import LoraConfig, PeftModel
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM
from trl import SFTConfig, SFTTrainer
from watch import Watch

# TRL pads samples to multiples of 128 tokens on neuron. Of shorter texts each batch has one shape
# and a mask; transformers drops a full batch's mask, which would be a second set of programs.
LENGTH, CHARACTERS = 128, 300


def base_model(args: argparse.Namespace, vocabulary: int) -> LlamaForCausalLM:
    if args.base:
        return AutoModelForCausalLM.from_pretrained(args.base, dtype=torch.float32)
    torch.manual_seed(args.seed)
    sizes = {"hidden_size": args.width, "intermediate_size": 3 * args.width}
    sizes |= {"num_hidden_layers": args.layers, "num_attention_heads": 4}
    return LlamaForCausalLM(LlamaConfig(vocab_size=vocabulary, tie_word_embeddings=True, **sizes))


def config(args: argparse.Namespace, steps: int, rate: float) -> SFTConfig:
    return SFTConfig(
        args.output,
        use_cpu=args.device == "cpu",
        bf16=args.bf16,
        max_steps=steps,
        learning_rate=rate,
        per_device_train_batch_size=args.batch,
        max_length=LENGTH,
        pad_to_multiple_of=LENGTH,
        dataloader_drop_last=True,  # or an epoch's last batch has shapes, and programs, of its own
        logging_steps=1,
        save_strategy="no",
        seed=args.seed,
        report_to="none",
    )


@torch.no_grad()
def logits(model: torch.nn.Module, question_BT: torch.Tensor) -> torch.Tensor:
    return model.eval()(question_BT.to(model.device)).logits.cpu()


def main(argv: list[str] | None = None) -> dict[str, list[float]]:
    args = parser().parse_args(argv)
    texts = corpus.articles()
    tokenizer = corpus.tokenizer_for(texts, args.vocabulary)
    model = base_model(args, len(tokenizer))
    base = args.base or f"{args.output}/base"
    rows, losses, late = {}, {}, []

    def tune(name: str, samples: list[dict[str, str]], steps: int, rate: float, **options):
        watch = Watch(args.device)
        trainer = SFTTrainer(
            model,
            config(args, steps, rate),
            train_dataset=Dataset.from_list(samples),
            processing_class=tokenizer,
            callbacks=[watch],
            **options,
        )
        trainer.train()
        losses[name] = watch.losses
        first, last = (statistics.mean(part) for part in (watch.losses[:5], watch.losses[-5:]))
        rows[f"{name}: first, last losses"] = f"{first:.3f}, {last:.3f}"
        late.append(watch.late_programs())
        return trainer

    if not args.base:
        starts = [(text, i) for text in texts for i in range(0, len(text), CHARACTERS)]
        pieces = [text[i : i + CHARACTERS] for text, i in starts]
        tune("base", [{"text": piece} for piece in pieces], args.base_steps, 3e-3)
        model.save_pretrained(base)
    answers = [
        {"prompt": f'help("{topic}")\n', "completion": text[:CHARACTERS]}
        for topic, text in topics.topics.items()
    ]
    lora = LoraConfig(r=args.rank, lora_alpha=2 * args.rank, target_modules="all-linear")
    trainer = tune("adapter", answers, args.steps, args.lr, peft_config=lora)
    trainer.save_model(f"{args.output}/adapter")
    trainable, total = trainer.model.get_nb_trainable_parameters()
    rows["trainable parameters"] = f"{trainable:,} of {total:,}"

    # What was saved, read on the CPU and merged, is the model that was trained on the device.
    question = tokenizer('help("if")\n', return_tensors="pt").input_ids
    want = logits(trainer.model, question)
    merged = PeftModel.from_pretrained(
        AutoModelForCausalLM.from_pretrained(base), f"{args.output}/adapter"
    ).merge_and_unload()
    difference = (logits(merged, question) - want).abs().max().item()
    merged.save_pretrained(f"{args.output}/merged")
    said = merged.generate(question, max_new_tokens=40, do_sample=True, top_k=20)
    print(tokenizer.decode(said[0], skip_special_tokens=True))
    rows["merged on CPU, logits differ"] = f"{difference:.1e}"
    rows["new programs after step 3"] = str(sum(late))
    summary.show(args.device, rows)
    return {**losses, "difference": [difference], "late": late}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    made.add_argument("--device", choices=("neuron", "cpu"), default="neuron")
    made.add_argument("--base", default="", help="folder of a model to start from")
    made.add_argument("--output", default="build/lora_trl", help="folder of adapter and models")
    made.add_argument("--bf16", action="store_true", help="autocast to bfloat16")
    numbers = {"steps": 30, "base_steps": 40, "batch": 8, "rank": 8, "lr": 1e-2}
    numbers |= {"vocabulary": 2048, "width": 128, "layers": 2, "seed": 0}
    for name, value in numbers.items():
        flag = f"--{name.replace('_', '-')}"
        made.add_argument(flag, type=type(value), default=value, help=f"default {value}")
    return made


if __name__ == "__main__":
    main()
