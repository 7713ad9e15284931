"""The pages of docs/ that show code: it runs as it is printed."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


PAGES = (
    "README.md",
    "docs/adding-an-op.md",
    "docs/attention.md",
    "docs/data_dependent_shapes.md",
    "docs/dtypes.md",
    "docs/func.md",
    "docs/quantization.md",
    "docs/recurrent.md",
    "docs/upsampling.md",
)


@pytest.mark.parametrize("page", PAGES)
def test_the_code_on_the_page_runs(page):
    text = (ROOT / page).read_text()
    blocks = list(BLOCK.finditer(text))
    assert blocks
    names: dict = {}
    for block in blocks:
        above = text[: block.start(1)].count("\n")
        # Blank lines keep the page's line numbers in a traceback.
        exec(compile("\n" * above + block[1], page, "exec"), names)
