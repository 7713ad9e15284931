"""The pages of docs/ that show code: it runs as it is printed."""

import pytest
import snippets

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
    assert snippets.run(page)
