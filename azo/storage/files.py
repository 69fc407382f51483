"""Reads whole files, plain or packed, and writes them; checksums of folders.

Every message begins with the path. All writing of azo goes through this module, `journal` and
`locks`; `descriptors` says which links they follow. Only regular files are read.

Packed content is unpacked only up to a multiple of its size, so that a small file never fills the
memory.
"""

import bz2
import contextlib
import csv
import errno
import gzip
import hashlib
import io
import lzma
import os
import pathlib
import re
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

import pydantic_core

from azo.storage import descriptors

CHECKSUMS = "SHA256SUMS"
"""File with the checksums of a folder."""

_MAX_RATIO = 20  # unpacked to packed size; archives of games and positions have at most 13
_ALWAYS_BYTES = 1 << 24  # may be unpacked in any case
_MAX_BYTES = 1 << 30  # of any file; a device such as /dev/zero has no end
_MAX_LINE = 500  # characters of a message
_LEFTOVER = r"\..+\.([0-9a-f]{16}|\d+)\.tmp"  # of a process that was killed
_UNPACKERS: dict[str, Callable[[BinaryIO], Any]] = {  # by the end of a file's name
    ".gz": lambda packed: gzip.GzipFile(fileobj=packed),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}


class Unreadable(ValueError):
    """The system could not read something: nothing is known of its content."""

    def __init__(self, path: object, error: OSError):
        """Takes the path, and the error, whose number becomes the attribute `errno`."""
        super().__init__(f"{path}: cannot be read: {error.strerror or error}")
        self.errno = error.errno


class Damaged(ValueError):
    """A file has another checksum than was recorded, or is missing, or is one too many."""


@contextlib.contextmanager
def located(place: object) -> Iterator[None]:
    """Within the block, the message of a ValueError begins with its place, such as a path."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def open_to_read(path: pathlib.Path) -> io.BufferedReader:
    """Opens a regular file, or a stream such as /dev/stdin; Unreadable if that fails.

    A FIFO elsewhere, a device or a folder is refused, and never waited for.
    """
    try:
        return open(descriptors.open_to_read(path), "rb")
    except OSError as error:
        raise Unreadable(path, error) from None


def read(path: pathlib.Path) -> bytes:
    """Returns the content of a file, unpacked if its name ends in .gz, .bz2 or .xz.

    Unreadable, or another ValueError for packed content that is damaged or too large.
    """
    whole = io.BytesIO()
    with open_to_read(path) as file:
        try:
            while whole.tell() <= _MAX_BYTES and (chunk := file.read(1 << 20)):
                whole.write(chunk)
        except OSError as error:
            raise Unreadable(path, error) from None
    content = whole.getvalue()
    if len(content) > _MAX_BYTES:
        raise ValueError(f"{path}: larger than {_MAX_BYTES >> 30} GiB")
    unpacker = _UNPACKERS.get(path.suffix.lower())
    if unpacker is None:
        return content
    limit = max_unpacked(content)
    try:
        unpacked = unpacker(io.BytesIO(content)).read(limit + 1)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{path}: cannot be read: {error}") from None
    if len(unpacked) > limit:
        raise ValueError(f"{path}: unpacks to more than {limit:,} bytes: unpack it by hand")
    return unpacked


def is_packed(name: str) -> bool:
    """Returns whether `read` unpacks a file of this name."""
    return pathlib.PurePath(name).suffix.lower() in _UNPACKERS


def unpacked_name(name: str) -> str:
    """Returns the name of a file in small letters, without the ending of a packed one."""
    lower = name.lower()
    return lower[: lower.rindex(".")] if is_packed(name) else lower


def unpacked_beginning(name: str, content: bytes, limit: int) -> bytes:
    """Returns at most `limit` bytes of the beginning of a file, which may be cut short itself.

    It is unpacked if the name says so; ValueError if it cannot be.
    """
    unpacker = _UNPACKERS.get(pathlib.PurePath(name).suffix.lower())
    if unpacker is None:
        return content[:limit]
    whole = io.BytesIO()
    try:
        with contextlib.suppress(EOFError), unpacker(io.BytesIO(content)) as source:
            while whole.tell() < limit and (part := source.read1(1 << 16)):
                whole.write(part)
    except (OSError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{one_line(name, 80)}: cannot be unpacked: {error}") from None
    return whole.getvalue()[:limit]


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


def csv_rows(lines: Iterable[str], delimiter: str = ",") -> Iterator[list[str]]:
    """Yields the rows of a CSV that are not blank; raises ValueError for one that csv refuses."""
    try:
        yield from filter(None, csv.reader(lines, delimiter=delimiter))
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


def write(
    path: pathlib.Path,
    content: bytes,
    *,
    inside: pathlib.Path | None = None,
    makes_folder: bool = False,
) -> None:
    """Writes a file; a reader sees either the old content or the complete new one.

    It is on disk when this returns, and has the permissions of the old file. Without `inside`, the
    path is one that the user named, and may be a link, which stays; `inside` is a folder that azo
    fills, in which links are refused. `makes_folder` makes a missing folder. ValueError, one line,
    if it cannot be written there.
    """
    try:
        if inside is None and descriptors.is_stream(path):
            path.write_bytes(content)
            return
        with descriptors.placed(path, inside, makes_folder=makes_folder) as place:
            found = descriptors.status(place)
            kind = descriptors.kind_of(found) if found else ""
            if kind and kind != "a folder" and inside is None:  # which the user named
                place.path.write_bytes(content)
                return
            descriptors.refuse_special(place.name, found)
            _replace(place, content, found)
    except OSError as error:
        raise _unwritable(path, error) from None


def _replace(place: descriptors.Place, content: bytes, old: os.stat_result | None) -> None:
    partial = descriptors.temporary_name(place.name)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    mode = 0o666 if old is None else 0o600
    descriptor = os.open(partial, flags, mode, dir_fd=place.folder)
    try:
        try:
            if old is not None:
                os.fchmod(descriptor, old.st_mode & 0o777)
            descriptors.write_all(descriptor, content)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(partial, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial, dir_fd=place.folder)
        raise
    descriptors.sync(place.folder)


def _unwritable(path: object, error: OSError) -> ValueError:
    return ValueError(f"{path}: cannot write here ({error.strerror or error})")


def make_folder(folder: pathlib.Path, inside: pathlib.Path | None = None) -> None:
    """Makes a folder and missing ones above it, on disk when this returns; see `write`."""
    try:
        with descriptors.folder(folder, inside, makes_folder=True):
            pass
    except OSError as error:
        raise _unwritable(folder, error) from None


def open_log(path: pathlib.Path, inside: pathlib.Path) -> io.FileIO:
    """Opens a file that is only appended to, without buffer, such as the output of a program.

    It is made if absent. ValueError, one line, for a link or anything but a regular file.
    """
    try:
        with descriptors.placed(path, inside) as place:
            return io.FileIO(descriptors.open_to_append(place), "a")
    except OSError as error:
        raise _unwritable(path, error) from None


def check_place(path: pathlib.Path, inside: pathlib.Path) -> None:
    """Raises ValueError, one line, if something below a folder of azo is a symbolic link."""
    try:
        with descriptors.placed(path, inside) as place:
            descriptors.refuse_link(place.name, descriptors.status(place))
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unwritable(path, error) from None


def check_own(path: pathlib.Path, *, is_replaced: bool = False) -> None:
    """Raises ValueError if a file of azo is a link, or not a regular file; it may be absent.

    Unless it `is_replaced` whole, several names of it are refused too. Call it before a long work
    whose results go there.
    """
    try:
        with descriptors.placed(path, path.parent) as place:
            found = descriptors.status(place)
            descriptors.refuse_special(place.name, found)
            if not is_replaced:
                descriptors.refuse_names(place.name, found)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unwritable(path, error) from None


def damaged_name(path: pathlib.Path) -> pathlib.Path:
    """Returns a free name for a damaged file or folder: NAME.damaged, else NAME.damaged-2, ..."""
    place, number = path.with_name(f"{path.name}.damaged"), 1
    while os.path.lexists(place):
        number += 1
        place = path.with_name(f"{path.name}.damaged-{number}")
    return place


def set_aside(path: pathlib.Path) -> pathlib.Path:
    """Renames a damaged file or folder; returns its new path, on disk when this returns.

    A link to it keeps its name, and what it leads to is renamed.
    """
    try:
        with descriptors.placed(path) as place:
            aside = damaged_name(place.path)
            os.rename(place.name, aside.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
            descriptors.sync(place.folder)
    except OSError as error:
        raise _unwritable(path, error) from None
    return aside


@contextlib.contextmanager
def new_folder(folder: pathlib.Path, inside: pathlib.Path | None = None) -> Iterator[pathlib.Path]:
    """Yields a folder to fill, which gets its name at the end of the block; an error removes it.

    Its name is on disk then; the caller sees to its files. `inside` is as in `write`. ValueError,
    one line, if the folder is not new or empty, or cannot be written.
    """
    try:
        with descriptors.placed(folder, inside, makes_folder=True) as place:
            descriptors.refuse_link(place.name, descriptors.status(place))
            if place.path.exists() and (not place.path.is_dir() or any(place.path.iterdir())):
                raise ValueError(f"{folder}: exists already: choose a new folder")
            partial = place.path.with_name(descriptors.temporary_name(place.name))
            os.mkdir(partial.name, dir_fd=place.folder)
            try:
                yield partial
                os.replace(
                    partial.name, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder
                )
            except BaseException:
                shutil.rmtree(partial, ignore_errors=True)
                raise
            descriptors.sync(place.folder)
    except OSError as error:
        raise _unwritable(folder, error) from None


def remove_folder(folder: pathlib.Path, inside: pathlib.Path) -> None:
    """Removes a folder of azo with all its files, if it exists; a crash leaves no part of it.

    ValueError, one line, if that fails, or for a link.
    """
    try:
        with descriptors.placed(folder, inside) as place:
            status = descriptors.status(place)
            descriptors.refuse_link(place.name, status)
            if status is None:
                return
            if (kind := descriptors.kind_of(status)) != "a folder":  # rmtree would wait for a FIFO
                raise OSError(errno.ENOTDIR, f"it is {kind or 'a file'}, not a folder")
            aside = folder.with_name(descriptors.temporary_name(place.name))
            os.rename(place.name, aside.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
        shutil.rmtree(aside)
    except FileNotFoundError:
        return
    except OSError as error:
        raise ValueError(f"{folder}: cannot be removed ({error.strerror or error})") from None


def rename(old: pathlib.Path, new: pathlib.Path, inside: pathlib.Path) -> None:
    """Renames a file or folder of azo, on disk when this returns; ValueError if that fails."""
    try:
        with descriptors.placed(old, inside) as before, descriptors.placed(new, inside) as after:
            descriptors.refuse_link(before.name, descriptors.status(before))
            descriptors.refuse_link(after.name, descriptors.status(after))
            os.replace(before.name, after.name, src_dir_fd=before.folder, dst_dir_fd=after.folder)
            descriptors.sync(after.folder)
    except OSError as error:
        raise _unwritable(new, error) from None


def remove_leftovers(
    folder: pathlib.Path, name: str | None = None, *, pattern: str = _LEFTOVER
) -> None:
    """Removes temporary files that killed processes have left, of writing a `name` or any.

    Only for a process that holds the lock of what it names: others may be writing. `pattern` is the
    regular expression of their names.
    """
    of_name = "" if name is None else re.escape(descriptors.temporary_name(name)[:-20])
    with contextlib.suppress(OSError):
        for path in list(folder.iterdir()):
            if not (re.match(of_name, path.name) and re.fullmatch(pattern, path.name)):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def write_checksums(folder: pathlib.Path) -> None:
    """Writes the checksums of a new folder; all its files are on disk when this returns.

    OSError if one is not.
    """
    lines = []
    for path in _files_in(folder):
        with open_to_read(path) as file:
            os.fsync(file.fileno())
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        lines.append(f"{digest}  {path.relative_to(folder).as_posix()}\n")
    write(folder / CHECKSUMS, "".join(lines).encode(), inside=folder)
    for parent in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
        with descriptors.folder(parent) as descriptor:
            descriptors.sync(descriptor)


def verify_checksums(
    folder: pathlib.Path, parts: Iterable[str] | None = None, *, is_cached: bool = True
) -> bool:
    """Verifies a folder; returns False if it has no checksums.

    Hidden files are ignored. `parts` are files and folders in it to verify; by default all. Unless
    `is_cached`, files are read from the disk, where the system allows it. Damaged, one line, names
    a changed, missing or additional file; Unreadable is no statement about them.
    """
    try:
        if not (folder / CHECKSUMS).exists():
            return False
        names = {path.relative_to(folder).as_posix() for path in _files_in(folder)}
    except OSError as error:
        raise Unreadable(error.filename or folder, error) from None
    wanted = None if parts is None else set(parts)
    expected = _read_checksums(folder / CHECKSUMS)
    for name in sorted(names | expected.keys()):
        if wanted is not None and name.partition("/")[0] not in wanted:
            continue
        if name not in names:
            is_other = os.path.exists(folder / name)
            raise Damaged(f"{folder}: damaged: {name} is {'not a file' * is_other or 'missing'}")
        if name not in expected:
            raise Damaged(f"{folder}: damaged: {name} has no checksum in {CHECKSUMS}")
        if _digest_of(folder, name, is_cached) != expected[name]:
            raise Damaged(f"{folder}: damaged: {name} has another checksum")
    return True


def _read_checksums(path: pathlib.Path) -> dict[str, str]:
    """Returns the checksums by the names of the files."""
    try:
        text = read(path).decode()
    except UnicodeDecodeError:
        raise Damaged(f"{path.parent}: damaged: {path.name} cannot be read") from None
    lines = [re.fullmatch(r"([0-9a-f]{64})  ([^\0]+)", line) for line in text.split("\n")[:-1]]
    if not text.endswith("\n") or not all(lines):
        raise Damaged(f"{path.parent}: damaged: {path.name} is not a list of checksums")
    return {line[2]: line[1] for line in lines if line}


def _digest_of(folder: pathlib.Path, name: str, is_cached: bool) -> str:
    try:
        with open_to_read(folder / name) as file:
            if not is_cached and hasattr(os, "posix_fadvise"):
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise Unreadable(folder / name, error) from None
    except Unreadable as error:
        if error.errno == errno.ENOENT:  # removed by another process
            raise Damaged(f"{folder}: damaged: {name} is missing") from None
        raise


def _files_in(folder: pathlib.Path) -> list[pathlib.Path]:
    """Returns all files but hidden ones and the checksums, in order; OSError if it cannot."""
    paths = []
    for place, folders, names in os.walk(folder, onerror=_raise_unless_missing):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for path in (pathlib.Path(place, name) for name in names if not name.startswith(".")):
            if path.is_file() and path != folder / CHECKSUMS:
                paths.append(path)
    return sorted(paths)


def _raise_unless_missing(error: OSError) -> None:
    if error.errno != errno.ENOENT:  # else removed by another process
        raise error
