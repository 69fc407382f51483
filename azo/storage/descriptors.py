"""Descriptors of files and folders, opened so that nothing foreign is followed or waited for.

A path begins with what the user named: links in it are followed. Below a folder that azo fills,
`inside`, a symbolic link is refused, since it may lead to any file of the user; so is a file with
several names (hard links) if it would be changed in place. Functions raise OSError, whose
`strerror` says what to do.
"""

import contextlib
import errno
import os
import pathlib
import re
import stat
from collections.abc import Iterator
from typing import NamedTuple

# Of file systems that cannot sync folders; EBADF of a folder that may not be read.
_CANNOT_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EROFS}
_CANNOT_SYNC |= {errno.EBADF}
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_OWN = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_STREAM = re.compile(r"/(dev/(?!shm/)|proc/).*")  # as /dev/stdin, or /dev/fd/63 of `<(command)`
_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}
_MAX_NAME = 40  # characters of a name in that of a temporary file: names have at most 255 bytes


class Place(NamedTuple):
    """A name in an open folder."""

    folder: int
    """Descriptor of the folder."""
    name: str
    path: pathlib.Path
    """Of the name, without links in it that the user named."""


@contextlib.contextmanager
def placed(
    path: pathlib.Path, inside: pathlib.Path | None = None, *, makes_folder: bool = False
) -> Iterator[Place]:
    """Yields the place of a file or folder, which may be absent; see the module for `inside`.

    Without `inside`, a link at the path leads to the place. `makes_folder` makes missing folders.
    """
    if inside is None:
        path = pathlib.Path(os.path.realpath(path))
        if path.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    with folder(path.parent, inside, makes_folder=makes_folder) as descriptor:
        yield Place(descriptor, path.name, path)


@contextlib.contextmanager
def folder(
    path: pathlib.Path, inside: pathlib.Path | None = None, *, makes_folder: bool = False
) -> Iterator[int]:
    """Yields a descriptor of a folder; see `placed`.

    With `makes_folder`, its name and those of the folders that were made are on disk.
    """
    names = () if inside is None else path.relative_to(inside).parts
    base = pathlib.Path(os.path.realpath(path if inside is None else inside))
    if makes_folder:
        _make(base)
    descriptor = _open_folder(str(base))
    try:
        for name in names:
            if makes_folder:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, dir_fd=descriptor)
                sync(descriptor)
            inner = _open_folder(name, descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _make(path: pathlib.Path) -> None:
    """Makes a folder; its name is on disk when this returns, also if it has been there."""
    if not path.parent.is_dir():
        _make(path.parent)
    with contextlib.suppress(FileExistsError):
        path.mkdir()
    above = _open_folder(str(path.parent))
    try:
        sync(above)
    finally:
        os.close(above)


def _open_folder(name: str, above: int | None = None) -> int:
    """Opens a folder; a name in the folder `above` may not be a link."""
    flags = _FOLDER if above is None else _FOLDER | os.O_NOFOLLOW
    try:
        return os.open(name, flags, dir_fd=above)
    except PermissionError:  # a folder that may be entered and not listed
        if not hasattr(os, "O_PATH"):
            raise
        return os.open(name, flags | os.O_PATH, dir_fd=above)
    except OSError:
        if above is not None:
            refuse_link(name, status(Place(above, name, pathlib.Path(name))))
        raise


def sync(descriptor: int) -> None:
    """Waits until the names in a folder are on disk, if its file system can report it."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise


def status(place: Place) -> os.stat_result | None:
    """Returns the status of what has a name, of a link itself; None if nothing has."""
    try:
        return os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def refuse_link(name: str, found: os.stat_result | None) -> None:
    """Raises OSError if a name is that of a symbolic link."""
    if found is not None and stat.S_ISLNK(found.st_mode):
        reason = f"{name} is a symbolic link, which is not followed: remove it"
        raise OSError(errno.ELOOP, reason)


def refuse_special(name: str, found: os.stat_result | None) -> None:
    """Raises OSError if a name is not that of a regular file, nor free."""
    refuse_link(name, found)
    if found is not None and (kind := kind_of(found)):
        if kind == "a folder":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        raise OSError(errno.EINVAL, f"{name} is {kind}, not a file: remove it")


def refuse_names(name: str, found: os.stat_result | None) -> None:
    """Raises OSError if a file has several names, and a change in place would reach all."""
    if found is not None and found.st_nlink > 1:
        reason = f"{name} is one of {found.st_nlink} hard links to a file: replace it by a copy"
        raise OSError(errno.EMLINK, reason)


def kind_of(found: os.stat_result) -> str:
    """Returns what something is that is not a regular file, such as "a FIFO", else ""."""
    if stat.S_ISREG(found.st_mode):
        return ""
    return _KINDS.get(stat.S_IFMT(found.st_mode), "not a regular file")


def is_stream(path: pathlib.Path) -> bool:
    """Returns whether a path names a stream or a device of the system, which is no file."""
    return _STREAM.fullmatch(str(path)) is not None


def open_to_append(place: Place) -> int:
    """Opens a file of azo, which is made if absent, to read and to append to it."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | _OWN
    try:
        descriptor = os.open(place.name, flags, 0o666, dir_fd=place.folder)
    except OSError:
        refuse_special(place.name, status(place))
        raise
    try:
        found = os.fstat(descriptor)
        refuse_special(place.name, found)
        refuse_names(place.name, found)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def open_to_read(path: pathlib.Path) -> int:
    """Opens a regular file, or a stream that the user named; anything else is refused."""
    if is_stream(path):
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    kind = kind_of(os.fstat(descriptor))
    if not kind:
        return descriptor
    os.close(descriptor)
    if kind == "a folder":
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise OSError(errno.EINVAL, f"it is {kind}, not a file")


def temporary_name(name: str) -> str:
    """Returns the name of a temporary file or folder, which nobody can predict."""
    return f".{name[:_MAX_NAME]}.{os.urandom(8).hex()}.tmp"


def write_all(descriptor: int, content: bytes) -> None:
    """Writes all of a content, however little the system takes at a time."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def read_all(descriptor: int, size: int, offset: int) -> bytes:
    """Returns bytes of a file, however few the system gives at a time; fewer at its end."""
    content = b""
    while len(content) < size:
        part = os.pread(descriptor, size - len(content), offset + len(content))
        if not part:
            break
        content += part
    return content
