"""Reads whole files, plain or gzipped, and writes them; checksums of folders.

Every message begins with the path.

Packed content is unpacked only up to a multiple of its size, so that a small file never fills the
memory.
"""

import contextlib
import csv
import gzip
import hashlib
import io
import os
import pathlib
import re
import shutil
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import pydantic_core

CHECKSUMS = "SHA256SUMS"
"""File with the checksums of a folder."""

_MAX_RATIO = 20  # unpacked to packed size; archives of games and positions have at most 13
_ALWAYS_BYTES = 1 << 24  # may be unpacked in any case
_MAX_BYTES = 1 << 30  # of any file; a device such as /dev/zero has no end
_MAX_LINE = 500  # characters of a message


@contextlib.contextmanager
def located(place: object) -> Iterator[None]:
    """Within the block, the message of a ValueError begins with its place, such as a path."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def read(path: pathlib.Path) -> bytes:
    """Returns the content of a file, unpacked if the name ends in .gz; ValueError if it cannot."""
    try:
        whole = io.BytesIO()
        with path.open("rb") as file:
            while whole.tell() <= _MAX_BYTES and (chunk := file.read(1 << 20)):
                whole.write(chunk)
        content = whole.getvalue()
        if len(content) > _MAX_BYTES:
            raise ValueError(f"{path}: larger than {_MAX_BYTES >> 30} GiB")
        if path.suffix.lower() != ".gz":
            return content
        limit = max_unpacked(content)
        unpacked = gzip.GzipFile(fileobj=io.BytesIO(content)).read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"{path}: cannot be read: {reason}") from None
    if len(unpacked) > limit:
        raise ValueError(f"{path}: unpacks to more than {limit:,} bytes: unpack it by hand")
    return unpacked


def max_unpacked(packed: bytes) -> int:
    """Returns the number of bytes to which packed content may be unpacked."""
    return max(_ALWAYS_BYTES, _MAX_RATIO * len(packed))


def read_text(path: pathlib.Path) -> str:
    """Returns the content of a UTF-8 file as text, without a byte-order mark; see `read`."""
    try:
        return read(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not a text in UTF-8: {error.reason}") from None


def parse_json(text: str, place: object) -> Any:
    """Returns the value of a JSON text; raises ValueError, one line that begins with `place`.

    Values nested more than 200 deep are refused.
    """
    try:
        return pydantic_core.from_json(text)
    except ValueError as error:
        raise ValueError(f"{place}: not JSON: {one_line(error, 100)}") from None


def csv_rows(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yields the rows of a CSV that are not blank; raises ValueError for one that csv refuses."""
    try:
        yield from filter(None, csv.reader(lines))
    except csv.Error as error:  # such as a field of more than 131,072 characters
        raise ValueError(f"the next row is not CSV: {error}") from None


def one_line(text: object, limit: int = _MAX_LINE) -> str:
    """Returns a text on one line, without control characters, and shortened in its middle."""
    line = printable(" ".join(str(text).split()))
    if len(line) <= limit:
        return line
    return f"{line[: limit // 2]} ... {line[-limit // 2 :]}"


def printable(text: str) -> str:
    """Returns a text with spaces for white space and `?` for other control characters."""
    if text.isprintable():
        return text
    return "".join(x if x.isprintable() else " " if x.isspace() else "?" for x in text)


def write(path: pathlib.Path, content: bytes, *, makes_folder: bool = False) -> None:
    """Writes a file; a reader sees either the old content or the complete new one.

    `makes_folder` makes a missing folder. ValueError, one line, if it cannot be written there.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        if makes_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():  # a device
            path.write_bytes(content)
            return
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise ValueError(f"{path}: cannot write here ({error.strerror})") from None


def damaged_name(path: pathlib.Path) -> pathlib.Path:
    """Returns a free name for a damaged file or folder: NAME.damaged, else NAME.damaged-2, ..."""
    place, number = path.with_name(f"{path.name}.damaged"), 1
    while place.exists():
        number += 1
        place = path.with_name(f"{path.name}.damaged-{number}")
    return place


@contextlib.contextmanager
def new_folder(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yields a folder to fill, which gets its name at the end of the block; an error removes it.

    ValueError, one line, if the folder is not new or empty, or cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder}: exists already: choose a new folder")
    partial = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    try:
        partial.mkdir(parents=True)
        yield partial
        os.replace(partial, folder)
        sync_folder(folder.parent)
    except OSError as error:
        raise ValueError(f"{folder}: cannot write here ({error.strerror})") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def sync_folder(folder: pathlib.Path) -> None:
    """Waits until the names of the files in a folder are on disk, where the system allows it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_checksums(folder: pathlib.Path) -> None:
    """Writes the checksums of a folder; all its files are on disk when this returns."""
    lines = []
    for path in _files_in(folder):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        lines.append(f"{digest}  {path.relative_to(folder).as_posix()}\n")
    write(folder / CHECKSUMS, "".join(lines).encode())
    for parent in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
        sync_folder(parent)


def verify_checksums(
    folder: pathlib.Path, parts: Iterable[str] | None = None, *, is_cached: bool = True
) -> bool:
    """Verifies a folder; returns False if it has no checksums.

    Hidden files are ignored. `parts` are files and folders in it to verify; by default all. Unless
    `is_cached`, files are read from the disk, where the system allows it. ValueError, one line,
    names a damaged, missing or additional file.
    """
    if not (folder / CHECKSUMS).exists():
        return False
    wanted = None if parts is None else set(parts)
    expected = _read_checksums(folder / CHECKSUMS)
    names = {path.relative_to(folder).as_posix() for path in _files_in(folder)}
    for name in sorted(names | expected.keys()):
        if wanted is not None and name.partition("/")[0] not in wanted:
            continue
        if name not in names:
            raise ValueError(f"{folder}: damaged: {name} is missing")
        if name not in expected:
            raise ValueError(f"{folder}: damaged: {name} has no checksum in {CHECKSUMS}")
        if _digest_of(folder / name, is_cached) != expected[name]:
            raise ValueError(f"{folder}: damaged: {name} has another checksum")
    return True


def _read_checksums(path: pathlib.Path) -> dict[str, str]:
    """Returns the checksums by the names of the files."""
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        raise ValueError(f"{path.parent}: damaged: {path.name} cannot be read") from None
    lines = [re.fullmatch(r"([0-9a-f]{64})  ([^\0]+)", line) for line in text.split("\n")[:-1]]
    if not text.endswith("\n") or not all(lines):
        raise ValueError(f"{path.parent}: damaged: {path.name} is not a list of checksums")
    return {line[2]: line[1] for line in lines if line}


def _digest_of(path: pathlib.Path, is_cached: bool) -> str:
    try:
        with path.open("rb") as file:
            if not is_cached and hasattr(os, "posix_fadvise"):
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"unreadable: {error.strerror}"


def _files_in(folder: pathlib.Path) -> list[pathlib.Path]:
    """Returns all files but hidden ones and the checksums, in order."""
    found = []
    with contextlib.suppress(FileNotFoundError):  # removed by another process
        for path in sorted(folder.rglob("*")):
            names = path.relative_to(folder).parts
            is_hidden = any(name.startswith(".") for name in names)
            if path.is_file() and not is_hidden and names != (CHECKSUMS,):
                found.append(path)
    return found
