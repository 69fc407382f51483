"""Standard streams that neither lose output nor end early, whatever another process does to them.

The descriptors of standard streams belong to all processes that have inherited them. One of them
may make them non-blocking (O_NONBLOCK): a read then fails where it should wait, and a write takes
only a part of its data. `install` lets Python's streams wait instead. The flag itself stays as it
is, since the other process relies on it.

Output in an encoding that lacks a character, such as ASCII, gets a similar one in its place.
"""

import codecs
import contextlib
import io
import os
import select
import sys
import unicodedata
from typing import Any

_STREAMS = (("stdin", 0), ("stdout", 1), ("stderr", 2))
_CHUNK = 1 << 16  # bytes
_SIMILAR = {  # characters that azo and its libraries print
    **dict.fromkeys("‐‑‒–—―−─━╌╴╶╸╺", "-"),
    **dict.fromkeys("│┃", "|"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╰╯┏┓┗┛", "+"),
    **dict.fromkeys("‘’", "'"),
    **dict.fromkeys("“”", '"'),
    **dict.fromkeys("⠁⠂⠃⠄⠅⠆⠇⠈⠉⠊⠋⠌⠍⠎⠏⠐⠙⠚⠛⠠⠤⠦⠧⠰⠸⠹⠼⠴", "*"),
    **{"±": "+-", "×": "x", "→": "->", "←": "<-", "…": "...", "·": ".", "•": "*"},
    **{"●": "X", "○": "O", "≤": "<=", "≥": ">=", "≈": "~", "\u00a0": " "},
}
_NAME = "azo.similar"  # of the handler of encoding errors


class PatientFile(io.FileIO):
    """A file descriptor that reads and writes as a blocking one. It stays open when this closes."""

    def __init__(self, descriptor: int, mode: str):
        """Takes a descriptor for `mode`, "r" or "w"."""
        super().__init__(descriptor, mode, closefd=False)

    def readinto(self, buffer: Any) -> int:  # type: ignore[override]
        """Waits for data, and returns the number of bytes read, 0 at the end."""
        while (count := super().readinto(buffer)) is None:
            _wait(self.fileno(), select.POLLIN)
        return count

    def readall(self) -> bytes:
        """Reads to the end."""
        parts = []
        buffer = bytearray(_CHUNK)
        while count := self.readinto(buffer):
            parts.append(bytes(buffer[:count]))
        return b"".join(parts)

    def read(self, size: int | None = -1) -> bytes:  # type: ignore[override]
        """Reads some bytes, at most `size`; all by default."""
        if size is None or size < 0:
            return self.readall()
        buffer = bytearray(size)
        return bytes(buffer[: self.readinto(buffer)])

    def write(self, data: Any) -> int:  # type: ignore[override]
        """Writes all of the data, and returns its number of bytes."""
        left = memoryview(data).cast("B")
        total = len(left)
        while left:
            count = super().write(left)
            if count is None:
                _wait(self.fileno(), select.POLLOUT)
            else:
                left = left[count:]
        return total


def write(descriptor: int, data: bytes) -> None:
    """Writes all of the data to a descriptor, also to a non-blocking one."""
    left = memoryview(data)
    while left:
        try:
            left = left[os.write(descriptor, left) :]
        except BlockingIOError:
            _wait(descriptor, select.POLLOUT)


def install() -> None:
    """Replaces the standard streams by ones that wait; for the beginning of a process.

    Streams that the shell has closed, as by `>&-`, are opened on the null device: Python sets them
    to None, and the next file that is opened would get the number of the stream.
    """
    codecs.register_error(_NAME, _similar)
    for name, descriptor in _STREAMS:
        mode, old = "r" if name == "stdin" else "w", getattr(sys, name)
        if old is None:
            number = os.open(os.devnull, os.O_RDWR)  # the lowest free one: that of the stream
            os.set_inheritable(number, True)
            stream = _text(number, mode, "utf-8", "strict")
        elif isinstance(old, io.TextIOWrapper) and _number(old) == descriptor:
            stream = _text(
                descriptor,
                mode,
                old.encoding,
                old.errors or "strict",
                line_buffering=old.line_buffering,
                write_through=old.write_through,
            )
        else:  # replaced by a program that runs azo
            continue
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def discard_output_of_libraries() -> None:
    """Discards what libraries in C++ write to standard output, and nothing that Python writes."""
    if isinstance(sys.stdout, io.TextIOWrapper) and _number(sys.stdout) == 1:
        sys.stdout.flush()
        old, descriptor = sys.stdout, os.dup(1)
        sys.stdout = _text(
            descriptor,
            "w",
            old.encoding,
            old.errors or "strict",
            line_buffering=old.line_buffering,
            write_through=old.write_through,
        )
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.close(null)


def discard(*names: str) -> None:
    """Discards what streams have not written yet, and all that follows: nobody reads it."""
    for name in names:
        with contextlib.suppress(OSError, ValueError):  # ValueError: an object in memory
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, getattr(sys, name).fileno())
            os.close(null)


def _text(
    descriptor: int, mode: str, encoding: str, errors: str, **options: Any
) -> io.TextIOWrapper:
    file = PatientFile(descriptor, mode)
    if mode == "r":
        return io.TextIOWrapper(io.BufferedReader(file), encoding, errors)
    errors = _NAME if errors == "strict" else errors
    # Without buffers (PYTHONUNBUFFERED), the text is written through to the file.
    buffer: Any = file if options.get("write_through") else io.BufferedWriter(file)
    return io.TextIOWrapper(buffer, encoding, errors, **options)


def _number(stream: io.TextIOWrapper) -> int | None:
    try:
        return stream.fileno()
    except (OSError, ValueError):
        return None


def _wait(descriptor: int, event: int) -> None:
    poll = select.poll()
    poll.register(descriptor, event)
    poll.poll()


def _similar(error: UnicodeError) -> tuple[str, int]:
    """Returns text for characters that an encoding lacks; a handler of encoding errors."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_ascii, error.object[error.start : error.end])), error.end


def _ascii(character: str) -> str:
    if character in _SIMILAR:
        return _SIMILAR[character]
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return plain or character.encode("ascii", "backslashreplace").decode()
