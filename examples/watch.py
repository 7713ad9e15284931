"""A callback of transformers.Trainer that notes what the examples print."""

import time

import summary
from transformers import TrainerCallback


class Watch(TrainerCallback):
    """Notes each step's loss, its seconds, and how many programs there were after it."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.losses: list[float] = []
        self.seconds: list[float] = []
        self.programs: list[int] = []

    def on_step_begin(self, args, state, control, **kwargs) -> None:
        self.start = time.perf_counter()

    def on_log(self, args, state, control, logs, **kwargs) -> None:
        if "loss" in logs:  # one a step, with what the Trainer waits for at the step's end
            self.losses.append(float(logs["loss"]))
            self.seconds.append(time.perf_counter() - self.start)
            self.programs.append(summary.programs(self.device))

    def late_programs(self) -> int:
        """Programs that the third step, by when all shapes were seen, did not find."""
        return self.programs[-1] - self.programs[:3][-1]
