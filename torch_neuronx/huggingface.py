"""What Hugging Face's libraries, which stay as they are, let a user add for this device.

Imported by the user, who has transformers installed; nothing here is loaded by `import torch`.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import TrainerCallback
from transformers.trainer_callback import ExportableState

from torch_neuronx.device import random


class SaveRNGState(TrainerCallback, ExportableState):
    """Keeps the devices' random number generators in a Trainer's checkpoints.

        Trainer(..., callbacks=[SaveRNGState()])

    Trainer saves the generators of the host and of the devices in a list of its own. With this
    callback a run that is resumed draws the numbers (dropout) that the uninterrupted run draws.
    The states are part of trainer_state.json, as lists of 16 bytes, one for each local device.
    """

    def state(self) -> dict[str, Any]:
        """What Trainer writes into a checkpoint."""
        states = [state.tolist() for state in random.get_rng_state_all()]
        return {"args": {}, "attributes": {"rng_states": states}}

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Restores what the checkpoint that `state` was read from holds; a new run has nothing."""
        saved = state.stateful_callbacks.get(type(self).__name__)
        if state.global_step > 0 and saved is not None:
            states = saved["attributes"]["rng_states"]
            random.set_rng_state_all(torch.tensor(s, dtype=torch.uint8) for s in states)
