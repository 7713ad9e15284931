"""Trains a small Qwen3 with transformers.Trainer on Python's own reference, and resumes it.

What names the device is `use_cpu`: the Trainer finds neuron by itself. A checkpoint is written
halfway; `--resume` continues from it with the losses of the uninterrupted run.
"""

import argparse
import statistics

import corpus
import summary
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM, Trainer, TrainingArguments
from watch import Watch


def blocks(text: str, tokenizer, length: int) -> list[dict[str, list[int]]]:
    """`text` cut into samples of `length` tokens; the rest is dropped, so all shapes are equal."""
    ids = tokenizer(text).input_ids
    cuts = [ids[i : i + length] for i in range(0, len(ids) - length + 1, length)]
    return [{"input_ids": cut, "labels": cut} for cut in cuts]


def main(argv: list[str] | None = None) -> Watch:
    args = parser().parse_args(argv)
    torch.manual_seed(args.seed)
    texts = corpus.articles()
    tokenizer = corpus.tokenizer_for(texts, args.vocabulary)
    samples = blocks("<end>".join(texts), tokenizer, args.context)
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=args.width,
            intermediate_size=3 * args.width,
            num_hidden_layers=args.layers,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=args.width // 4,
            tie_word_embeddings=True,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    watch = Watch(args.device)
    trainer = Trainer(
        model,
        TrainingArguments(
            args.output,
            use_cpu=args.device == "cpu",
            bf16=args.bf16,
            torch_compile=args.compile,
            max_steps=args.steps,
            per_device_train_batch_size=args.batch,
            per_device_eval_batch_size=args.batch,
            dataloader_drop_last=True,
            learning_rate=args.lr,
            warmup_steps=args.steps // 10,
            save_steps=max(args.steps // 2, 1),
            logging_steps=1,
            seed=args.seed,
            report_to="none",
        ),
        train_dataset=samples[8 * args.batch :],
        eval_dataset=samples[: 8 * args.batch],
        processing_class=tokenizer,
        callbacks=[watch],
    )
    trainer.train(resume_from_checkpoint=args.resume)
    validation = trainer.evaluate()["eval_loss"]
    steady = statistics.median(watch.seconds[len(watch.seconds) // 2 :])
    summary.show(
        args.device,
        {
            "training loss, first": f"{watch.losses[0]:.4f}",
            "training loss, last": f"{watch.losses[-1]:.4f}",
            "validation loss": f"{validation:.4f}",
            "steady step": f"{steady * 1e3:.0f} ms",
            "tokens/s": f"{args.batch * args.context / steady:,.0f}",
            "new programs after step 3": str(watch.late_programs()),
        },
    )
    return watch


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    made.add_argument("--device", choices=("neuron", "cpu"), default="neuron")
    made.add_argument("--output", default="build/finetune_trainer", help="folder of checkpoints")
    made.add_argument("--resume", metavar="FOLDER", help="a checkpoint to continue from")
    made.add_argument("--bf16", action="store_true", help="autocast to bfloat16")
    made.add_argument("--compile", action="store_true", help="torch.compile the model")
    numbers = {"steps": 60, "batch": 8, "context": 128, "vocabulary": 2048}
    numbers |= {"width": 128, "layers": 4, "lr": 2e-3, "seed": 0}
    for name, value in numbers.items():
        made.add_argument(f"--{name}", type=type(value), default=value, help=f"default {value}")
    return made


if __name__ == "__main__":
    main()
