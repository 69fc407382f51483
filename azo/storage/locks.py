"""Locks: one process at a time writes a folder or a file.

The operating system holds the lock (`flock`) and releases it at the end of the process, also after
a crash. The lock file names its process and host for the message to a second process. It is never
removed: two processes could then hold locks on two files of the same name. If somebody removes it,
`check` makes it again, or stops the first process after another one. A link in its place, which
would lead to another file, is refused.
"""

import contextlib
import errno
import fcntl
import os
import pathlib
import re
import socket
import stat
import sys
import weakref

from azo.storage import descriptors

LOCK = ".lock"
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


class InUse(ValueError):
    """Another process holds the lock; the message names it in one line."""


class Lock(contextlib.AbstractContextManager["Lock"]):
    """A lock that is held until `release`, the end of a `with` block, or the end of the process."""

    def __init__(self, target: pathlib.Path, file: pathlib.Path):
        """Takes the lock on `target`; its `file` is made with its folder if absent.

        InUse if another process holds it; ValueError, one line, if the file cannot be written, or
        is a link.
        """
        self._target, self._file = target, file
        self._take()

    def _take(self) -> None:
        target, file = self._target, self._file
        try:
            with descriptors.folder(file.parent, makes_folder=True):
                descriptor = os.open(file, _FLAGS, 0o666)
        except OSError as error:
            if file.is_symlink():
                raise ValueError(f"{file}: is a link: remove it") from None
            if file.is_dir():
                raise ValueError(f"{file}: not a lock file, but a folder: remove it") from None
            raise ValueError(f"{target}: cannot write here ({error.strerror})") from None
        self.release = weakref.finalize(self, _close, descriptor)
        try:
            self._status = os.fstat(descriptor)
        except OSError as error:
            self.release()
            raise ValueError(f"{target}: cannot be locked ({error.strerror})") from None
        if not stat.S_ISREG(self._status.st_mode) or self._status.st_nlink > 1:
            self.release()
            raise ValueError(f"{file}: not a lock file, or a link: remove it")
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _UNSUPPORTED:
                print(
                    f"{target}: this file system has no locks ({error.strerror}): make sure that"
                    " only one process writes here",
                    file=sys.stderr,
                )
                return
            owner = ""
            with contextlib.suppress(OSError):  # then the other process has no name
                owner = os.pread(descriptor, 1000, 0).decode(errors="replace")
            self.release()
            if not isinstance(error, BlockingIOError):
                raise ValueError(f"{target}: cannot be locked ({error.strerror})") from None
            raise InUse(f"{target}: in use by {_name(owner)}: wait until it ends") from None
        self.check()
        with contextlib.suppress(OSError):  # the lock holds on a full disk too
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()} {socket.gethostname()}\n".encode(), 0)

    def check(self) -> None:
        """Takes the lock again if its file was removed; call it before a write.

        It costs microseconds. ValueError, one line, if there is another lock file, of a process
        that may have written.
        """
        try:
            is_same = os.path.samestat(self._status, os.lstat(self._file))
        except FileNotFoundError:
            self.release()
            self._take()
            return
        if not is_same:
            raise ValueError(
                f"{self._target}: another process has written here, after its lock file"
                f" {self._file.name} was removed"
            )

    def __exit__(self, *_: object) -> None:
        self.release()


def _close(descriptor: int) -> None:
    with contextlib.suppress(OSError):  # the lock ends in any case, and the file keeps no data
        os.close(descriptor)


def lock_folder(folder: pathlib.Path) -> Lock:
    """Locks a folder, which is made if absent; see `Lock`."""
    return Lock(folder, folder / LOCK)


def lock_file(path: pathlib.Path) -> Lock:
    """Locks a file, which may be absent, by a lock file beside it; see `Lock`.

    Of a link, it is beside the file to which that leads: all names of a file have one lock.
    """
    file = pathlib.Path(os.path.realpath(path))
    return Lock(path, file.with_name(f".{file.name}{LOCK}"))


def _name(owner: str) -> str:
    """Returns the process in a lock file in words."""
    match = re.fullmatch(r"(\d+) (\S+)\n", owner)
    return f"process {match[1]} on {match[2]}" if match else "another process"
