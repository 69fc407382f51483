"""Signals that end a command: SIGINT (Ctrl-C), SIGTERM and SIGHUP.

A command that trains catches them by a `StopRequest`: it saves, and its exit code is 0. A signal
that is ignored when the command starts, as SIGHUP under `nohup`, stays ignored.

Python handles signals between two of its instructions, so not while a compiled program or a
compilation runs, which can take minutes. `signals_end_computations` covers these: a pipe holds the
numbers of the signals that Python has not handled, and a thread reads it. A handler runs between
any two instructions, so also while the main thread holds the lock of an Event: handlers use none.
It also runs within callbacks of the garbage collector, where Python discards what it raises: the
signal is then sent again.
"""

import contextlib
import os
import signal
import socket
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, NoReturn

import rich.console

_SIGNALS: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PATIENCE = 1.0  # seconds after which Python is taken to be inside a computation
_SECONDS_BETWEEN_LOOKS = 0.05
_caught_signals: list[int] = []  # since the process began
_unhandled: socket.socket | None = None  # has one byte, its number, for each signal


class StopRequest(contextlib.ExitStack):
    """Becomes true at the first signal within its block; a second one interrupts at once."""

    def __init__(self) -> None:
        super().__init__()
        self.is_made = False

    def __enter__(self) -> "StopRequest":
        self.enter_context(handled_by(self._make))
        return self

    def _make(self, number: int, frame: FrameType | None) -> None:
        if self.is_made:
            interrupt(number, frame)
        if number == signal.SIGHUP:
            _leave_terminal()
        self.is_made = True


@contextlib.contextmanager
def handled_by(
    handler: Callable[[int, FrameType | None], None], numbers: Sequence[int] = _SIGNALS
) -> Iterator[None]:
    """Within the block, a handler gets the signals that are not ignored.

    Does nothing outside the main thread.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        acknowledge()
        _caught_signals.append(number)
        handler(number, frame)

    previous: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in numbers:
            if signal.getsignal(number) != signal.SIG_IGN:
                previous[number] = signal.signal(number, handle)
    try:
        yield
    finally:
        for number, before in previous.items():
            signal.signal(number, before)


def acknowledge() -> None:
    """Takes the signals so far as handled. For code that goes on after a KeyboardInterrupt."""
    if _unhandled is not None:
        with contextlib.suppress(BlockingIOError):
            _unhandled.recv(1024, socket.MSG_DONTWAIT)


@contextlib.contextmanager
def signals_end_computations() -> Iterator[None]:
    """Within the block, a signal during a computation gives a line, and a second one ends all.

    The exit code is then 128 and the number of the signal. A signal whose KeyboardInterrupt Python
    discards is sent again. For the main thread.
    """
    global _unhandled
    _unhandled, sender = socket.socketpair()
    sender.setblocking(False)
    previous = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(_unhandled,), daemon=True).start()
    hook, sys.unraisablehook = sys.unraisablehook, _send_again
    try:
        yield
    finally:
        if sys.unraisablehook is _send_again:  # else a later one filters until the process ends
            sys.unraisablehook = hook
        signal.set_wakeup_fd(previous)
        acknowledge()
        _unhandled = None
        sender.close()  # ends the thread


def end_process(code: int) -> NoReturn:
    """Ends the process of a command; after a signal at once, even if threads still compute.

    Python would wait for them.
    """
    others = set(threading.enumerate()) - {threading.current_thread()}
    if _caught_signals and any(not thread.daemon for thread in others):
        sys.stdout.flush()
        _exit(code)
    sys.exit(code)


def _exit(code: int) -> NoReturn:
    rich.console.Console(stderr=True).show_cursor()  # which a progress display has hidden
    sys.stderr.flush()
    os._exit(code)


def _watch(unhandled: socket.socket) -> None:
    """Answers signals that stay unhandled with a line, and ends the process at a further one.

    Those that arrive together are one request: a wrapper passes on what the terminal has sent too.
    """
    with unhandled:
        while unhandled.recv(1, socket.MSG_PEEK):  # waits for a signal, or for the end
            time.sleep(_PATIENCE)
            first = _peek(unhandled)
            if not first:
                continue
            line = "stopping after the present computation; Ctrl-C again ends at once"
            print(line, file=sys.stderr, flush=True)
            while now := _peek(unhandled):
                if len(now) > len(first):
                    _exit(128 + now[-1])
                time.sleep(_SECONDS_BETWEEN_LOOKS)


def _peek(unhandled: socket.socket) -> bytes:
    try:
        return unhandled.recv(1024, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return b""


def _send_again(discarded: "sys.UnraisableHookArgs") -> None:
    """Sends the signal of a discarded KeyboardInterrupt again, once its callback has ended."""
    if isinstance(discarded.exc_value, KeyboardInterrupt):
        number, *_ = (*discarded.exc_value.args, signal.SIGINT)
        again = threading.Timer(_SECONDS_BETWEEN_LOOKS, os.kill, (os.getpid(), number))
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(discarded)


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raises KeyboardInterrupt with the number of a signal; a handler for `handled_by`."""
    del frame
    if number == signal.SIGHUP:
        _leave_terminal()
    raise KeyboardInterrupt(number)


def _leave_terminal() -> None:
    """Discards further output to a terminal that has hung up, where each write would fail."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # no file, or closed
            descriptor = stream.fileno()
            if stat.S_ISCHR(os.fstat(descriptor).st_mode) and not os.isatty(descriptor):
                os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
