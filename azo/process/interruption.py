"""Signals that end a command: SIGINT (Ctrl-C), SIGTERM and SIGHUP.

A command that trains catches them by a `StopRequest`: it saves, and its exit code is 0. A signal
that is ignored when the command starts, as SIGHUP under `nohup`, stays ignored.

Python handles signals between two of its instructions, so not while a compiled program or a
compilation runs, which can take minutes. Libraries also catch the KeyboardInterrupt of a handler,
and replace it or go on. `signals_end_computations` covers these: a pipe holds the numbers of the
signals that nothing has answered yet, and a thread reads it. The thread reports what happens, and
ends the process at a second signal.

A handler runs between any two instructions, so also while the main thread holds the lock of an
Event: handlers use none. It also runs within callbacks of the garbage collector, where Python
discards what it raises: the signal is then sent again.
"""

import atexit
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
import rich.live

_SIGNALS: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PATIENCE = 0.7  # seconds after which a signal is answered by a line
_TOGETHER = 0.2  # seconds; signals within them are one request
_GRACE = 0.5  # seconds in which the last signal ends the process in its usual way
_GRACE_OF_ERRORS = 5.0  # seconds, the same for a command that has failed
_SECONDS_TO_CLEAR = 0.3  # the terminal
_SECONDS_BETWEEN_LOOKS = 0.05
_LINE = "stopping after the current computation; Ctrl-C again stops at once"
_caught_signals: list[int] = []  # since the process began
_ending_signals: list[int] = []  # those of them that no command has caught
_exit_codes: list[int] = []  # of this process, once it ends after an error
_unhandled: socket.socket | None = None  # has one byte, its number, for each signal
_displays: list[rich.live.Live] = []  # on the terminal


class StopRequest(contextlib.ExitStack):
    """Becomes true at the first signal within its block; a second one interrupts at once."""

    def __init__(self) -> None:
        super().__init__()
        self.is_made = False
        self._made_seconds = 0.0
        self._has_interrupted = False

    def __enter__(self) -> "StopRequest":
        self.callback(self._answer)
        self.enter_context(handled_by(self._make))
        return self

    def _make(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.is_made and now - self._made_seconds > _TOGETHER:
            self._has_interrupted = True
            interrupt(number, frame)
        if number == signal.SIGHUP:
            _leave_terminal()
        if not self.is_made:
            self.is_made, self._made_seconds = True, now

    def _answer(self) -> None:
        if self.is_made and not self._has_interrupted:
            acknowledge()  # what was asked for is done


@contextlib.contextmanager
def handled_by(
    handler: Callable[[int, FrameType | None], None], numbers: Sequence[int] = _SIGNALS
) -> Iterator[None]:
    """Within the block, a handler gets the signals that are not ignored.

    A handler that has answered a signal, rather than interrupted, calls `acknowledge`. Does nothing
    outside the main thread.
    """

    def handle(number: int, frame: FrameType | None) -> None:
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
    """Takes the signals so far as answered, as by code that goes on after a KeyboardInterrupt."""
    if _unhandled is not None:
        with contextlib.suppress(BlockingIOError):
            _unhandled.recv(1024, socket.MSG_DONTWAIT)


def interrupted_by() -> int | None:
    """Returns the number of the last signal that nothing has answered, None without one."""
    numbers = b"" if _unhandled is None else _peek(_unhandled)
    return numbers[-1] if numbers else None


@contextlib.contextmanager
def signals_end_computations() -> Iterator[None]:
    """Within the block, a signal that is not answered gives a line, and a second one ends all.

    The exit code is then 128 and the number of the signal. SIGTERM and SIGHUP end a command that
    does not catch them, and leave the terminal as it was. A signal whose KeyboardInterrupt Python
    discards is sent again. For the main thread.
    """
    global _unhandled
    _unhandled, sender = socket.socketpair()
    sender.setblocking(False)
    previous = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    atexit.register(_leave)  # before JAX registers its functions, so it comes after them
    watch = threading.Thread(target=_watch, args=(_unhandled,), daemon=True)
    hook, sys.unraisablehook = sys.unraisablehook, _send_again
    ending = [one for one in _SIGNALS[1:] if signal.getsignal(one) == signal.SIG_DFL]
    for number in ending:
        signal.signal(number, _end)
    try:
        with contextlib.suppress(RuntimeError):  # no thread can be started
            watch.start()
        yield
    finally:
        for number in ending:
            signal.signal(number, signal.SIG_DFL)
        if sys.unraisablehook is _send_again:  # else a later one filters until the process ends
            sys.unraisablehook = hook
        signal.set_wakeup_fd(previous)
        if (last := interrupted_by()) is not None:
            _caught_signals.append(last)
        acknowledge()
        _unhandled = None
        sender.close()  # ends the thread


@contextlib.contextmanager
def cleared_at_end(live: rich.live.Live) -> Iterator[None]:
    """Within the block, a display is removed from the terminal if a signal ends the process."""
    _displays.append(live)
    try:
        yield
    finally:
        _displays.remove(live)


def end_process(code: int) -> NoReturn:
    """Ends the process of a command; after a signal at once, even if threads still compute.

    Python would wait for them, and JAX for its compilations while no thread runs. A signal that
    ends a command which does not catch it ends the process as if it had no handler.
    """
    if _ending_signals and code == 128 + (number := _ending_signals[-1]):
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        os.kill(os.getpid(), number)
    if _caught_signals:
        exit_at_once(code)
    if code:  # libraries wait for their own threads, also at exit
        _exit_codes.append(code)
        last = threading.Timer(_GRACE_OF_ERRORS, exit_at_once, [code])
        last.daemon = True
        with contextlib.suppress(RuntimeError):  # no thread can be started
            last.start()
    sys.exit(code)


def _leave() -> None:
    """Ends a process that has failed before Python ends its libraries, which may wait for long."""
    if _exit_codes:
        _flush()
        os._exit(_exit_codes[-1])


def exit_at_once(code: int) -> NoReturn:
    """Ends the process from any thread, whatever the others do, and leaves a clear terminal."""
    # In a thread of its own: the terminal may be stopped, or another thread may hold its lock.
    clearing = threading.Thread(target=_clear_terminal, daemon=True)
    with contextlib.suppress(RuntimeError):  # no thread can be started
        clearing.start()
        clearing.join(_SECONDS_TO_CLEAR)
    os._exit(code)


def _clear_terminal() -> None:
    for live in _displays[::-1]:
        live.transient = True
        with contextlib.suppress(Exception):
            live.stop()
    with contextlib.suppress(Exception):
        rich.console.Console(stderr=True).show_cursor()
    _flush()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def _watch(unhandled: socket.socket) -> None:
    """Answers signals that stay unhandled with a line, and ends the process at a further one.

    Those that arrive together are one request: a wrapper passes on what the terminal has sent too.
    """
    with unhandled:
        while unhandled.recv(1, socket.MSG_PEEK):  # waits for a signal, or for the end
            _follow(unhandled)


def _follow(unhandled: socket.socket) -> None:
    """Follows signals until they are answered."""
    first = time.monotonic()
    last: float | None = None  # when the signal came that ends the process
    count, has_told = 1, False
    while numbers := _peek(unhandled):
        now = time.monotonic()
        if len(numbers) > count:
            count = len(numbers)
            if now - first > _TOGETHER and last is None:
                last = now
        if last is None and signal.getsignal(numbers[-1]) is _end:
            last = now
        if last is not None:
            if now - last > _GRACE:
                exit_at_once(128 + numbers[-1])
        elif now - first > _PATIENCE and not has_told:
            has_told = True
            _tell()
        time.sleep(_SECONDS_BETWEEN_LOOKS)


def _tell() -> None:
    # In a thread of its own, as above.
    telling = threading.Thread(
        target=print, args=(_LINE,), kwargs={"file": sys.stderr, "flush": True}, daemon=True
    )
    with contextlib.suppress(RuntimeError):
        telling.start()


def _end(number: int, frame: FrameType | None) -> None:
    """Handles a signal that ends a command."""
    _caught_signals.append(number)
    _ending_signals.append(number)
    interrupt(number, frame)


def _peek(unhandled: socket.socket) -> bytes:
    try:
        return unhandled.recv(1024, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except (BlockingIOError, OSError):  # none, or closed
        return b""


def _send_again(discarded: "sys.UnraisableHookArgs") -> None:
    """Sends the signal of a discarded KeyboardInterrupt again, once its callback has ended."""
    if isinstance(discarded.exc_value, KeyboardInterrupt):
        number, *_ = (*discarded.exc_value.args, signal.SIGINT)
        acknowledge()  # it comes once more
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
