"""Files of records, one a line, to which lines are only appended.

A crash or a full disk loses at most the line being written: a last line without its end is ignored,
and removed before the next line is appended. Other damaged lines are named with their numbers on
standard error and skipped. A reader gives the function that parses a line, which is usually the
`validate_json` of a typed model, so that a record has its fields and their types wherever it is
used.
"""

import mmap
import os
import pathlib
import sys
from collections.abc import Callable
from typing import TypeVar

import pydantic

from azo.storage import files

Record = TypeVar("Record")
DAMAGED = ".damaged"
_MAX_NAMED = 5  # damaged lines in a message
_MAX_REASON = 100  # characters


def append(path: pathlib.Path, line: str) -> None:
    """Appends a line, given without its end; it is on disk when this returns.

    A missing folder is made. ValueError, one line, if it cannot be written: the file is as before.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b", buffering=0) as file:
            end = _end_of_lines(file.fileno())
            file.truncate(end)
            content = memoryview(line.encode() + b"\n")
            try:
                while content:
                    content = content[file.write(content) :]
                os.fsync(file.fileno())
            except OSError:
                file.truncate(end)
                raise
    except OSError as error:
        raise ValueError(f"{path}: cannot write here ({error.strerror})") from None


def read(path: pathlib.Path, parse: Callable[[bytes], Record]) -> list[Record]:
    """Returns the records of a file without the damaged lines; none if the file does not exist.

    `parse` returns the record of a line, or raises ValueError if it has none.
    """
    good, damaged = _parse(path, parse)
    if damaged:
        _note(path, damaged, "skipped")
    return [record for _, record in good]


def mend(
    path: pathlib.Path,
    parse: Callable[[bytes], Record],
    is_kept: Callable[[Record], bool] = lambda _: True,
) -> list[Record]:
    """Returns what `read` does, and moves damaged lines to the end of the file `NAME.damaged`.

    Only for the process that writes the file. Records that are not kept are removed from it.
    ValueError, one line, if the files cannot be written.
    """
    good, damaged = _parse(path, parse)
    kept = [(line, record) for line, record in good if is_kept(record)]
    if damaged:
        aside = path.with_name(path.name + DAMAGED)
        earlier = aside.read_bytes() if aside.exists() else b""
        files.write(aside, earlier + b"".join(line + b"\n" for _, line, _ in damaged))
        _note(path, damaged, f"moved to {aside.name}")
    if damaged or len(kept) < len(good):
        files.write(path, b"".join(line + b"\n" for line, _ in kept))
    return [record for _, record in kept]


def _parse(
    path: pathlib.Path, parse: Callable[[bytes], Record]
) -> tuple[list[tuple[bytes, Record]], list[tuple[int, bytes, str]]]:
    """Returns lines with their records, and the numbers, contents and faults of damaged lines."""
    good: list[tuple[bytes, Record]] = []
    damaged: list[tuple[int, bytes, str]] = []
    try:
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}") from None
    for number, line in enumerate(lines, start=1):
        try:
            good.append((line, parse(line)))
        except ValueError as error:
            damaged.append((number, line, files.one_line(reason(error), _MAX_REASON)))
    return good, damaged


def reason(error: ValueError) -> str:
    """Returns what is wrong with a record, the first of several faults of a typed model."""
    if not isinstance(error, pydantic.ValidationError):
        return str(error)
    first = error.errors(include_url=False)[0]
    if first["type"] == "value_error":
        return str(first["ctx"]["error"])
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else first["msg"]


def _note(path: pathlib.Path, damaged: list[tuple[int, bytes, str]], outcome: str) -> None:
    named = [f"line {number} ({reason})" for number, _, reason in damaged[:_MAX_NAMED]]
    if len(damaged) > _MAX_NAMED:
        named.append(f"and {len(damaged) - _MAX_NAMED} more")
    print(f"{path}: damaged, {outcome}: {', '.join(named)}", file=sys.stderr, flush=True)


def _end_of_lines(descriptor: int) -> int:
    """Returns the length of a file without an incomplete last line."""
    if not os.fstat(descriptor).st_size:  # nothing can be mapped
        return 0
    with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as content:
        return content.rfind(b"\n") + 1
