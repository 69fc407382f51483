"""Signals that end a command: SIGINT (Ctrl-C), SIGTERM and SIGHUP.

A command that trains catches them by a `StopRequest`: it saves, and its exit code is 0. A signal
that is ignored when the command starts, as SIGHUP under `nohup`, stays ignored.

Python handles signals between two of its instructions, so not while a compiled program or a
compilation runs, which can take minutes. `signals_end_computations` covers these.
"""

import contextlib
import os
import signal
import socket
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NoReturn

import rich.console

_SIGNALS: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PATIENCE = 1.0  # seconds after which Python is taken to be inside a computation
_has_arrived = threading.Event()  # one of the signals, since the process began


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
        _has_arrived.set()
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


@contextlib.contextmanager
def signals_end_computations() -> Iterator[None]:
    """Within the block, a signal during a computation gives a line, and a second one ends all.

    The exit code is then 128 and the number of the signal. Does nothing outside the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    answered = threading.Event()
    # SIGURG is otherwise ignored. Its handler shows that Python is not inside a computation.
    before = signal.signal(signal.SIGURG, lambda *_: answered.set())
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    previous = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(receiver, answered), daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(previous)
        sender.close()  # ends the thread
        signal.signal(signal.SIGURG, before)


def end_process(code: int) -> NoReturn:
    """Ends the process of a command; after a signal at once, even if threads still compute.

    Python would wait for them.
    """
    others = set(threading.enumerate()) - {threading.current_thread()}
    if _has_arrived.is_set() and any(not thread.daemon for thread in others):
        sys.stdout.flush()
        _exit(code)
    sys.exit(code)


def _exit(code: int) -> NoReturn:
    rich.console.Console(stderr=True).show_cursor()  # which a progress display has hidden
    sys.stderr.flush()
    os._exit(code)


def _watch(receiver: socket.socket, answered: threading.Event) -> None:
    """Reads the numbers of the signals that arrive, each of them one byte."""
    main_thread = threading.main_thread().ident
    assert main_thread is not None
    has_asked = False
    with receiver:
        while numbers := receiver.recv(1024):
            stopping = [number for number in numbers if number in _SIGNALS]
            if not stopping:
                continue
            answered.clear()
            signal.pthread_kill(main_thread, signal.SIGURG)
            if answered.wait(_PATIENCE):
                has_asked = False
            elif has_asked:
                _exit(128 + stopping[-1])
            else:
                line = "stopping after the present computation; Ctrl-C again ends at once"
                print(line, file=sys.stderr, flush=True)
                has_asked = True


def _interrupt(number: int, frame: FrameType | None) -> None:
    del frame
    _has_arrived.set()
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
