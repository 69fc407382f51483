"""How a command ends: quietly without a reader, in one line for lack of something, or as it should.

What a process lacks (memory, threads, open files, a device) is noticed in the middle of a library,
which reports it in its own way. `explain` recognises these reports.
"""

import errno
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator

from azo.storage import files, streams

UNREAD = 141  # exit code of a command whose reader has left: 128 and SIGPIPE, as shells show it
_MAX_CHAIN = 20
_NO_FILES = (errno.EMFILE, errno.ENFILE)
_NO_FILES_TEXT = "Too many open files"
_NO_MEMORY_TEXTS = (
    *("RESOURCE_EXHAUSTED", "Cannot allocate memory", "failed to map segment"),
    *("cannot allocate memory", "Unable to allocate"),
)
_NO_THREAD_TEXTS = ("can't start new thread", "Resource temporarily unavailable", "pthread_create")


def guarded(run: Callable[[], int], interrupted_by: Callable[[], int | None]) -> int:
    """Runs a whole command, and returns its exit code.

    `interrupted_by` returns the number of a signal that has interrupted it, if any: libraries
    replace a KeyboardInterrupt by their own errors.
    """
    try:
        code = run()
        sys.stdout.flush()
        return code
    except KeyboardInterrupt as error:
        return 128 + (error.args or (signal.SIGINT,))[0]
    except SystemExit as stop:  # of --help; or nobody reads
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            return unread()
        if is_unread(stop):
            return unread()
        raise
    except Exception as error:
        if (number := interrupted_by()) is not None:
            return 128 + number
        if is_unread(error):
            return unread()
        if (line := explain(error)) is None:
            raise
        return refuse(line)


def refuse(line: str) -> int:
    """Prints why a command ends, and returns its exit code."""
    try:
        print(files.one_line(line), file=sys.stderr, flush=True)
    except BrokenPipeError:
        return unread()
    return 2


def is_unread(error: BaseException) -> bool:
    """Returns whether output failed because its reader has left, as `head` does.

    rich raises SystemExit then.
    """
    return isinstance(error, BrokenPipeError) or (
        isinstance(error, SystemExit) and isinstance(error.__context__, BrokenPipeError)
    )


def unread() -> int:
    """Discards all further output, which would fail again, and returns the exit code."""
    streams.discard("stdout", "stderr")
    return UNREAD


def explain(error: BaseException) -> str | None:
    """Returns a line that says what the process lacks, None if the error has another cause."""
    for cause in _chain(error):
        text = str(cause)
        number = cause.errno if isinstance(cause, OSError) else None
        if number in _NO_FILES or _NO_FILES_TEXT in text:
            limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            return (
                f"too many open files: the limit is {limit}; raise it, such as by 'ulimit -n 1024'"
            )
        if isinstance(cause, MemoryError) or number == errno.ENOMEM or _has(text, _NO_MEMORY_TEXTS):
            return f"not enough memory: choose smaller numbers ({text or type(cause).__name__})"
        is_system = isinstance(cause, (OSError, RuntimeError))
        if number == errno.EAGAIN or (is_system and _has(text, _NO_THREAD_TEXTS)):
            return _no_threads()
    return _platform()


def _platform() -> str | None:
    """Returns a line if JAX is in use and has no device.

    The error of a compiled function does not show it: JAX removes its own frames from it.
    """
    if "jax" not in sys.modules:
        return None
    try:
        sys.modules["jax"].devices()
    except Exception as error:
        text, asked = str(error) or "no such device", os.environ.get("JAX_PLATFORMS")
        if not asked:
            return f"JAX has no device: choose the processor with JAX_PLATFORMS=cpu ({text})"
        return (
            f"JAX_PLATFORMS={asked}: JAX cannot use this platform; unset the variable, or"
            f" choose JAX_PLATFORMS=cpu ({text})"
        )
    return None


def _no_threads() -> str:
    limit = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    limits = "the limit of a container" if limit == resource.RLIM_INFINITY else f"it is {limit}"
    return (
        "cannot start a thread or a process: raise the limit for this user"
        f" ('ulimit -u'; {limits}), or end other programs"
    )


def _has(text: str, parts: tuple[str, ...]) -> bool:
    return any(part in text for part in parts)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yields an error and those that it replaced."""
    one: BaseException | None = error
    for _ in range(_MAX_CHAIN):
        if one is None:
            return
        yield one
        one = one.__cause__ or one.__context__
