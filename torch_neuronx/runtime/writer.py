"""A background thread for disk writes, so that fsync does not delay a launch.

Tasks run in the order of submission; what is pending is lost without harm when the process is
killed. Used by cache.py, which flushes before the interpreter exits.
"""

import os
import queue
import threading
from collections.abc import Callable

Task = Callable[[], None]


class Writer:
    """Tasks must not raise. `pending` bounds the queue: beyond it, submit waits."""

    def __init__(self, pending: int = 256) -> None:
        self._pending = pending
        self._start_over()
        os.register_at_fork(after_in_child=self._start_over)

    def _start_over(self) -> None:
        # A forked child has neither the thread nor a use for the parent's tasks.
        self._queue: queue.Queue[Task] = queue.Queue(self._pending)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def submit(self, task: Task) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="neuron-cache", daemon=True)
                self._thread.start()
        self._queue.put(task)

    def _run(self) -> None:
        tasks = self._queue
        while True:
            task = tasks.get()
            try:
                task()
            finally:
                tasks.task_done()

    def flush(self) -> None:
        """Waits until everything submitted so far has run."""
        if self._thread is not None and self._thread.is_alive():
            self._queue.join()
