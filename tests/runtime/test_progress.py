"""The line on stderr for a compile that takes long."""

import contextlib
import io
import time

import pytest

from torch_neuronx.runtime import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(seconds, patience, monkeypatch, *, stream=Terminal, error=None):
    """What a compile of `seconds` has written when it ends, and after that."""
    monkeypatch.setattr(progress, "_PATIENCE", patience)
    with contextlib.redirect_stderr(stream()) as stderr:
        with (
            contextlib.suppress(RuntimeError),
            progress.progress("GPT [0/0] forward"),
        ):
            time.sleep(seconds)
            during = stderr.getvalue()
            if error:
                raise error
        return during, stderr.getvalue()


@pytest.mark.parametrize("error", [None, RuntimeError("refused")])
def test_a_long_compile_shows_its_name_and_takes_the_line_away(monkeypatch, error):
    during, after = shown(0.5, 0.05, monkeypatch, error=error)
    assert "compiling GPT [0/0] forward for neuron: 0 s" in during
    assert "\n" not in after
    assert after.endswith("\r\x1b[2K")


def test_a_short_compile_shows_nothing(monkeypatch):
    assert shown(0.0, 2.0, monkeypatch) == ("", "")


def test_nothing_is_shown_where_stderr_is_no_terminal(monkeypatch):
    assert shown(0.3, 0.05, monkeypatch, stream=io.StringIO) == ("", "")
