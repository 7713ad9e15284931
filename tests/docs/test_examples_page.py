"""examples/README.md: a row for each script that a person can run, and each has a test."""

import re

import pytest
import snippets

EXAMPLES = snippets.ROOT / "examples"
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py") if "__main__" in path.read_text())


def test_the_table_lists_the_scripts():
    rows = re.findall(
        r"^\| \[(\w+\.py)\]\((\w+\.py)\) \|", (EXAMPLES / "README.md").read_text(), re.M
    )
    assert all(name == link for name, link in rows)
    assert sorted(name for name, _ in rows) == SCRIPTS


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_is_tested(script):
    name = script.removesuffix(".py")
    tests = (path.read_text() for path in (snippets.ROOT / "tests").glob("*/test_*.py"))
    assert any(re.search(rf"\b{name}\b", text) for text in tests)
