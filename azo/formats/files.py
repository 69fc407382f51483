"""Reads whole files, plain or gzipped, and writes them. Every message begins with the path.

Packed content is unpacked only up to a multiple of its size, so that a small file never fills the
memory.
"""

import contextlib
import gzip
import io
import itertools
import json
import os
import pathlib
import shutil
import zlib
from collections.abc import Iterator
from typing import Any

_MAX_RATIO = 20  # unpacked to packed size; archives of games and positions have at most 13
_ALWAYS_BYTES = 1 << 24  # may be unpacked in any case
_MAX_BYTES = 1 << 30  # of any file; a device such as /dev/zero has no end
_MAX_LINE = 500  # characters of a message


def kind(path: pathlib.Path) -> str:
    """Returns the suffix in small letters, such as ".csv", without a last ".gz"."""
    is_packed = path.suffix.lower() == ".gz"
    return (path.with_suffix("") if is_packed else path).suffix.lower()


def read(path: pathlib.Path) -> bytes:
    """Returns the content of a file, unpacked if the name ends in .gz.

    Raises:
      ValueError: one line, if the file is missing, cannot be read, or is damaged.
    """
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
    """Returns the value of a JSON text; raises ValueError, one line that begins with `place`."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place}: not JSON: {one_line(error, 100)}") from None


def one_line(text: object, limit: int = _MAX_LINE) -> str:
    """Returns a text on one line, without control characters, and shortened in its middle."""
    line = "".join(x if x.isprintable() else "?" for x in " ".join(str(text).split()))
    if len(line) <= limit:
        return line
    return f"{line[: limit // 2]} ... {line[-limit // 2 :]}"


def write(path: pathlib.Path, content: bytes) -> None:
    """Writes a file; a reader sees either the old content or the complete new one.

    Raises:
      ValueError: one line, if it cannot be written there.
    """
    is_device = os.path.exists(path) and not os.path.isfile(path)
    partial = path if is_device else path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with partial.open("wb") as file:
            file.write(content)
            if not is_device:
                file.flush()
                os.fsync(file.fileno())
        if not is_device:
            os.replace(partial, path)
            sync_folder(path.parent)
    except OSError as error:
        if not is_device:
            with contextlib.suppress(OSError):
                partial.unlink()
        raise ValueError(f"{path}: cannot write here ({error.strerror})") from None


def damaged_name(path: pathlib.Path) -> pathlib.Path:
    """Returns a free name for a damaged file or folder: NAME.damaged, else NAME.damaged-2, ..."""
    names = itertools.chain((".damaged",), (f".damaged-{number}" for number in itertools.count(2)))
    places = (path.with_name(path.name + name) for name in names)
    return next(place for place in places if not place.exists())


@contextlib.contextmanager
def new_folder(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yields a folder to fill, which gets its name at the end of the block; an error removes it.

    Raises:
      ValueError: one line, if the folder is not new or empty, or cannot be written.
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
