"""Lines from a front end, read by a thread, so that a new line can end a search."""

import collections
import contextlib
import io
import os
import sys
import threading
from collections.abc import Callable, Iterator

_CHUNK_BYTES = 1 << 16
_MAX_LINE_BYTES = 1 << 16  # the rest of a longer line is dropped
_MAX_WAITING = 1000  # lines; then the sender has to wait


class LineReader:
    """Iterator over the lines of an input."""

    def __init__(self, read: Callable[[], bytes]):
        """Starts reading; `read` waits for the next bytes and returns them, b"" at the end."""
        self._read = read
        self._waiting: collections.deque[str] = collections.deque()
        self._has_ended = False
        self._changed = threading.Condition()
        threading.Thread(target=self._collect, daemon=True).start()

    def __iter__(self) -> Iterator[str]:
        while True:
            self.wait()
            with self._changed:
                if not self._waiting:
                    return
                line = self._waiting.popleft()
                self._changed.notify_all()
            yield line

    def wait(self) -> None:
        """Returns as soon as a line or the end of the input is available."""
        with self._changed:
            self._changed.wait_for(self.is_waiting)

    def is_waiting(self) -> bool:
        """Returns whether a line or the end of the input is available."""
        return bool(self._waiting) or self._has_ended

    def has(self, matches: Callable[[str], bool]) -> bool:
        """Returns whether a line that waits to be read matches."""
        with self._changed:
            return any(map(matches, self._waiting))

    def watch_for_end(self, is_last: Callable[[str], bool]) -> Callable[[], bool]:
        """Returns a function that tells whether the session has ended since this call.

        It ends with the input, or when a line waits that `is_last` accepts. An end that has arrived
        already does not count: a script sends all its lines at once, and wants all answers whole.
        """

        def has_ended() -> bool:
            return self._has_ended or self.has(is_last)

        return (lambda: False) if has_ended() else has_ended

    def _collect(self) -> None:
        partial, is_too_long = b"", False
        while chunk := self._read():
            *ends, rest = (partial + chunk).split(b"\n")
            for line in ends:
                if not is_too_long:
                    self._add(line)
                is_too_long = False
            if len(rest) > _MAX_LINE_BYTES and not is_too_long:
                self._add(rest)
                is_too_long = True
            partial = b"" if is_too_long else rest
        if partial:
            self._add(partial)
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def _add(self, line: bytes) -> None:
        with self._changed:
            self._changed.wait_for(lambda: len(self._waiting) < _MAX_WAITING)
            self._waiting.append(line[:_MAX_LINE_BYTES].decode(errors="replace"))
            self._changed.notify_all()


def standard_input() -> LineReader:
    """Returns a reader of standard input."""

    def read() -> bytes:
        # Not `sys.stdin`: a thread that waits there holds a lock, and Python could not exit.
        try:
            return os.read(0, _CHUNK_BYTES)
        except OSError:  # the terminal is gone
            return b""

    return LineReader(read)


@contextlib.contextmanager
def standard_streams() -> Iterator[tuple[LineReader, Callable[[str], None]]]:
    """Yields a reader of standard input and a function that writes to standard output.

    Unsupported letters are escaped. The output of libraries goes to standard error.
    """
    output = sys.stdout
    if isinstance(output, io.TextIOWrapper):
        output.reconfigure(errors="backslashreplace")

    def write(text: str) -> None:
        print(text, end="", file=output, flush=True)

    with contextlib.redirect_stdout(sys.stderr):
        yield standard_input(), write
