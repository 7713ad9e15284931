"""Accelerate keeps the device that it chose for the life of a process."""

import sys


def forget():
    """Lets it choose again."""
    state = sys.modules.get("accelerate.state")
    if state is not None:
        state.AcceleratorState._reset_state(reset_partial_state=True)
        state.GradientState._reset_state()
