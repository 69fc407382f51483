"""Lines from a front end, read by a thread, so that a new line can end a search."""

import contextlib
import io
import queue
import sys
import threading
from collections.abc import Callable, Iterator

from azo.storage import streams

MAX_LINE_BYTES = 1 << 16  # the rest of a longer line is dropped
_MAX_WAITING = 1000  # lines; then the sender has to wait


class LineReader:
    """Iterator over the lines of an input, by default standard input."""

    def __init__(self, descriptor: int = 0):
        """Starts to read from a file descriptor. Bytes that are not UTF-8 become U+FFFD."""
        self._descriptor = descriptor
        self._waiting: queue.Queue[str | None] = queue.Queue(_MAX_WAITING)  # None at the end
        threading.Thread(target=self._collect, daemon=True).start()

    def __iter__(self) -> Iterator[str]:
        while (line := self._waiting.get()) is not None:
            yield line
        self._waiting.put(None)  # the end stays

    def is_waiting(self) -> bool:
        """Returns whether a line or the end of the input is available."""
        return not self._waiting.empty()

    def has(self, matches: Callable[[str], bool], *, or_end: bool = False) -> bool:
        """Returns whether a line that waits to be read matches, or the input has ended."""
        with self._waiting.mutex:
            return any(or_end if x is None else matches(x) for x in self._waiting.queue)

    def watch_for_end(self, is_last: Callable[[str], bool]) -> Callable[[], bool]:
        """Returns a function that says whether the session has ended since this call.

        It ends with the input, or when a line waits that `is_last` accepts. An end that has arrived
        already does not count: a script sends all its lines at once, and wants all answers whole.
        """

        def has_ended() -> bool:
            return self.has(is_last, or_end=True)

        return (lambda: False) if has_ended() else has_ended

    def _collect(self) -> None:
        # Not `sys.stdin`: a thread that waits there holds a lock, and Python could not exit. An
        # error means that the input is closed, or that the terminal is gone.
        with contextlib.suppress(OSError), _opened(self._descriptor) as source:
            while line := source.readline(MAX_LINE_BYTES + 1):
                self._waiting.put(
                    line.removesuffix(b"\n")[:MAX_LINE_BYTES].decode(errors="replace")
                )
                while len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):
                    line = source.readline(MAX_LINE_BYTES + 1)
        self._waiting.put(None)


def _opened(descriptor: int) -> io.BufferedReader:
    return io.BufferedReader(streams.PatientFile(descriptor, "r"))


@contextlib.contextmanager
def standard_streams() -> Iterator[tuple[LineReader, Callable[[str], None]]]:
    """Yields a reader of standard input and a function that writes to standard output.

    Unsupported letters are escaped in the output. The output of libraries goes to standard error.
    """
    output = sys.stdout
    if isinstance(output, io.TextIOWrapper):
        output.reconfigure(errors="backslashreplace")

    def write(text: str) -> None:
        print(text, end="", file=output, flush=True)

    with contextlib.redirect_stdout(sys.stderr):
        yield LineReader(), write
