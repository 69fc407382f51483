"""Checksums of all files of a folder, in its file `SHA256SUMS`.

The format is that of `sha256sum`, so `sha256sum --check SHA256SUMS` in the folder verifies it too.
"""

import contextlib
import hashlib
import os
import pathlib
import re
from collections.abc import Iterable

from azo.formats import files

FILE = "SHA256SUMS"


def write(folder: pathlib.Path) -> None:
    """Writes the checksums of a folder; all its files are on disk when this returns.

    Raises:
      ValueError: One line: the file of checksums cannot be written.
    """
    lines = []
    for path in _files(folder):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        lines.append(f"{digest}  {path.relative_to(folder).as_posix()}\n")
    files.write(folder / FILE, "".join(lines).encode())
    for parent in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
        files.sync_folder(parent)


def verify(
    folder: pathlib.Path, parts: Iterable[str] | None = None, *, is_cached: bool = True
) -> bool:
    """Verifies a folder; returns False if it has no checksums.

    Hidden files are ignored.

    Args:
      folder: the folder.
      parts: files and folders in it to verify; by default all.
      is_cached: False reads files that are on disk from the disk, where the system allows it.

    Raises:
      ValueError: One line that names a damaged, missing or additional file.
    """
    if not (folder / FILE).exists():
        return False
    wanted = None if parts is None else set(parts)
    expected = _read(folder / FILE)
    names = {path.relative_to(folder).as_posix() for path in _files(folder)}
    for name in sorted(names | expected.keys()):
        if wanted is not None and name.partition("/")[0] not in wanted:
            continue
        if name not in names:
            raise ValueError(f"{folder}: damaged: {name} is missing")
        if name not in expected:
            raise ValueError(f"{folder}: damaged: {name} has no checksum in {FILE}")
        if _digest(folder / name, is_cached) != expected[name]:
            raise ValueError(f"{folder}: damaged: {name} has another checksum")
    return True


def _read(path: pathlib.Path) -> dict[str, str]:
    """Returns the checksums by the names of the files."""
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        raise ValueError(f"{path.parent}: damaged: {path.name} cannot be read") from None
    lines = [re.fullmatch(r"([0-9a-f]{64})  ([^\0]+)", line) for line in text.split("\n")[:-1]]
    if not text.endswith("\n") or not all(lines):
        raise ValueError(f"{path.parent}: damaged: {path.name} is not a list of checksums")
    return {line[2]: line[1] for line in lines if line}


def _digest(path: pathlib.Path, is_cached: bool) -> str:
    try:
        with path.open("rb") as file:
            if not is_cached and hasattr(os, "posix_fadvise"):
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"unreadable: {error.strerror}"


def _files(folder: pathlib.Path) -> list[pathlib.Path]:
    """Returns all files but hidden ones and the checksums, in order."""
    found = []
    with contextlib.suppress(FileNotFoundError):  # removed by another process
        for path in sorted(folder.rglob("*")):
            names = path.relative_to(folder).parts
            is_hidden = any(name.startswith(".") for name in names)
            if path.is_file() and not is_hidden and names != (FILE,):
                found.append(path)
    return found
