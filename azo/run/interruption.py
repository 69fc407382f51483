"""Requests to stop: the signals that end a command after the work in progress is saved."""

import signal
import threading
from types import FrameType
from typing import Any


class StopRequest:
    """Becomes true at the first SIGINT or SIGTERM; a second signal interrupts at once."""

    def __init__(self) -> None:
        """Prepares the request; the signals are caught within a `with` block."""
        self.is_made = False
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> "StopRequest":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._previous[number] = signal.signal(number, self._make)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _make(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self.is_made:
            raise KeyboardInterrupt
        self.is_made = True
