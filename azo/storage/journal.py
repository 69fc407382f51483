"""Files of records, one per line, to which lines are only appended.

A crash or a full disk loses at most the line being written: a last line without its end is ignored,
and removed before the next line is appended. Other damaged lines are named with their numbers on
standard error and skipped. A reader gives the function that parses a line, which is usually the
`validate_json` of a typed model, so that a record has its fields and their types wherever it is
used.
"""

import os
import pathlib
import sys
from collections.abc import Callable
from typing import TypeVar

import pydantic

from azo.storage import descriptors, files

Record = TypeVar("Record")
DAMAGED = ".damaged"
_MAX_NAMED = 5  # damaged lines in a message
_MAX_REASON = 100  # characters
_BLOCK = 1 << 16  # bytes that are read at once, from the end


def append(path: pathlib.Path, line: str) -> None:
    """Appends a line, given without its end; it is on disk when this returns.

    A missing folder is made. ValueError, one line, if it cannot be written: the file is as before.
    So it is for a link in place of the file, and for a file with several names.
    """
    try:
        is_new = not os.path.lexists(path)
        with descriptors.placed(path, path.parent, makes_folder=is_new) as place:
            descriptor = descriptors.open_to_append(place)
            try:
                if not os.fstat(descriptor).st_size:  # so that no line is in a file without a name
                    descriptors.sync(place.folder)
                _append(descriptor, line.encode() + b"\n")
            finally:
                os.close(descriptor)
    except OSError as error:
        raise ValueError(f"{path}: cannot write here ({error.strerror or error})") from None


def _append(descriptor: int, content: bytes) -> None:
    end = _end_of_lines(descriptor)
    if end < os.fstat(descriptor).st_size:
        os.ftruncate(descriptor, end)
    try:
        descriptors.write_all(descriptor, content)
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, end)
        raise


def read(path: pathlib.Path, parse: Callable[[bytes], Record]) -> list[Record]:
    """Returns the records of a file without the damaged lines; none if the file does not exist.

    `parse` returns the record of a line, or raises ValueError if it has none.
    """
    good, damaged = _parse(path, parse)
    if damaged:
        _note(path, damaged, "skipped")
    return [record for _, record in good]


def repair(
    path: pathlib.Path,
    parse: Callable[[bytes], Record],
    is_kept: Callable[[Record], bool] = lambda _: True,
) -> list[Record]:
    """Returns what `read` does, and moves damaged lines to the end of the file `NAME.damaged`.

    Only for the process that writes the file. Records that are not kept are removed from it.
    ValueError, one line, if the files cannot be written.
    """
    files.check_own(path)
    good, damaged = _parse(path, parse)
    kept = [(line, record) for line, record in good if is_kept(record)]
    if damaged:
        aside = path.with_name(path.name + DAMAGED)
        files.check_place(aside, path.parent)
        earlier = files.read(aside) if aside.exists() else b""
        lines = b"".join(line + b"\n" for _, line, _ in damaged)
        files.write(aside, earlier + lines, inside=path.parent)
        _note(path, damaged, f"moved to {aside.name}")
    if damaged or len(kept) < len(good):
        content = b"".join(line + b"\n" for line, _ in kept)
        files.write(path, content, inside=path.parent)
    return [record for _, record in kept]


def _parse(
    path: pathlib.Path, parse: Callable[[bytes], Record]
) -> tuple[list[tuple[bytes, Record]], list[tuple[int, bytes, str]]]:
    """Returns lines with their records, and the numbers, contents and faults of damaged lines."""
    good: list[tuple[bytes, Record]] = []
    damaged: list[tuple[int, bytes, str]] = []
    lines = files.read(path).split(b"\n")[:-1] if _exists(path) else []
    for number, line in enumerate(lines, start=1):
        try:
            good.append((line, parse(line)))
        except ValueError as error:
            damaged.append((number, line, files.one_line(reason(error), _MAX_REASON)))
    return good, damaged


def _exists(path: pathlib.Path) -> bool:
    try:
        return path.exists()
    except OSError as error:
        raise files.Unreadable(path, error) from None


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
    """Returns the length of a file without an incomplete last line.

    The file is not mapped into memory: an error of the disk would kill the process there.
    """
    end = os.fstat(descriptor).st_size
    while end:
        start = max(0, end - _BLOCK)
        place = descriptors.read_all(descriptor, end - start, start).rfind(b"\n")
        if place >= 0:
            return start + place + 1
        end = start
    return 0
