"""Runs a piece of Python in a fresh interpreter, for what can only be seen at start-up."""

import os
import subprocess
import sys
import textwrap


def run(code, *, check=True, **environment):
    """The finished process; `environment` adds variables, None removes one."""
    env = {**os.environ, **{k: v for k, v in environment.items() if v is not None}}
    for name, value in environment.items():
        if value is None:
            env.pop(name, None)
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=300,
        env=env,
    )
    assert not check or result.returncode == 0, result.stderr
    return result
