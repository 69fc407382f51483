"""Signals that end a command: SIGINT (Ctrl-C), SIGTERM and SIGHUP.

A command that trains catches them by a `StopRequest`: it saves, and its exit code is 0. A signal
that is ignored when the command starts, as SIGHUP under `nohup`, stays ignored.
"""

import contextlib
import os
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

_SIGNALS: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequest:
    """Becomes true at the first signal; a second one interrupts at once."""

    def __init__(self) -> None:
        """Prepares the request; the signals are caught within a `with` block."""
        self.is_made = False
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> "StopRequest":
        self._stack.enter_context(_caught(self._make))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _make(self, number: int, frame: FrameType | None) -> None:
        if self.is_made:
            _interrupt(number, frame)
        if number == signal.SIGHUP:
            _leave_terminal()
        self.is_made = True


@contextlib.contextmanager
def signals_interrupt() -> Iterator[None]:
    """Within the block, the signals raise KeyboardInterrupt with their number."""
    with _caught(_interrupt):
        yield


def _interrupt(number: int, frame: FrameType | None) -> None:
    del frame
    if number == signal.SIGHUP:
        _leave_terminal()
    raise KeyboardInterrupt(number)


@contextlib.contextmanager
def _caught(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handles the signals that are not ignored; does nothing outside the main thread."""
    previous: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in _SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:
                previous[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, before in previous.items():
            signal.signal(number, before)


def _leave_terminal() -> None:
    """Discards further output to a terminal that has hung up, where each write would fail."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # no file, or closed
            descriptor = stream.fileno()
            if stat.S_ISCHR(os.fstat(descriptor).st_mode) and not os.isatty(descriptor):
                os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
