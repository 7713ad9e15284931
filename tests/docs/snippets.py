"""The Python blocks of a page of docs/, and running them as they are printed."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Indented, where a block belongs to an item of a list. What follows the language marks a block that
# is shown and not run.
FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


def blocks(page, language="python"):
    """(first line's number, code) of each block of `page`, a path from the repository's root."""
    text = (ROOT / page).read_text()
    for fence in FENCE.finditer(text):
        indent, info, code = fence.groups()
        if info == language:
            line = text[: fence.start(3)].count("\n")
            yield line, re.sub(f"^{indent}", "", code, flags=re.MULTILINE)


def run(page):
    """Runs the blocks of `page` in order, in one namespace, which is returned."""
    names: dict = {}
    for line, code in blocks(page):
        # Blank lines keep the page's line numbers in a traceback.
        exec(compile("\n" * line + code, page, "exec"), names)
    return names
