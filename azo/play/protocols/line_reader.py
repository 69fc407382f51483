"""Lines from a front end, read by a thread, so that a new line can end a search."""

import collections
import contextlib
import io
import sys
import threading
from collections.abc import Callable, Iterator

MAX_LINE_BYTES = 1 << 16  # the rest of a longer line is dropped
_MAX_WAITING = 1000  # lines; then the sender has to wait


class LineReader:
    """Iterator over the lines of an input, by default standard input."""

    def __init__(self, descriptor: int = 0, errors: str = "replace"):
        """Starts to read from a file descriptor; `errors` are those of the decoding."""
        self._descriptor, self._errors = descriptor, errors
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
        # Not `sys.stdin`: a thread that waits there holds a lock, and Python could not exit. An
        # error means that the input is closed, or that the terminal is gone.
        with contextlib.suppress(OSError), open(self._descriptor, "rb", closefd=False) as source:
            while line := source.readline(MAX_LINE_BYTES + 1):
                text = line.removesuffix(b"\n")[:MAX_LINE_BYTES].decode(errors=self._errors)
                with self._changed:
                    self._changed.wait_for(lambda: len(self._waiting) < _MAX_WAITING)
                    self._waiting.append(text)
                    self._changed.notify_all()
                while len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):
                    line = source.readline(MAX_LINE_BYTES + 1)
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()


@contextlib.contextmanager
def standard_streams(
    errors: str = "replace",
) -> Iterator[tuple[LineReader, Callable[[str], None]]]:
    """Yields a reader of standard input and a function that writes to standard output.

    `errors` are those of the reader. Unsupported letters are escaped in the output. The output of
    libraries goes to standard error.
    """
    output = sys.stdout
    if isinstance(output, io.TextIOWrapper):
        output.reconfigure(errors="backslashreplace")

    def write(text: str) -> None:
        print(text, end="", file=output, flush=True)

    with contextlib.redirect_stdout(sys.stderr):
        yield LineReader(errors=errors), write
