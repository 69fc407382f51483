"""Locks: one process at a time writes a folder or a file.

The operating system holds the lock (`flock`) and releases it at the end of the process, also after
a crash. The lock file names its process and host for the message to a second process. It is never
removed: two processes could then hold locks on two files of the same name.
"""

import contextlib
import errno
import fcntl
import os
import pathlib
import re
import socket
import sys
import weakref

LOCK = ".lock"
_UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


class InUse(ValueError):
    """Another process holds the lock; the message names it in one line."""


class Lock:
    """A lock that is held until `release`, the end of a `with` block, or the end of the process."""

    def __init__(self, target: pathlib.Path, file: pathlib.Path):
        """Takes the lock.

        Args:
          target: folder or file that the lock is for; appears in messages.
          file: the lock file; made with its folder if absent.

        Raises:
          InUse: Another process holds the lock.
          ValueError: One line: the lock file cannot be written.
        """
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise ValueError(f"{target}: cannot write here ({error.strerror})") from None
        self.release = weakref.finalize(self, os.close, descriptor)
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
            owner = os.pread(descriptor, 1000, 0).decode(errors="replace")
            self.release()
            if not isinstance(error, BlockingIOError):
                raise ValueError(f"{target}: cannot be locked ({error.strerror})") from None
            raise InUse(f"{target}: in use by {_name(owner)}: wait until it ends") from None
        with contextlib.suppress(OSError):  # the lock holds on a full disk too
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()} {socket.gethostname()}\n".encode(), 0)

    def __enter__(self) -> "Lock":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def lock_folder(folder: pathlib.Path) -> Lock:
    """Locks a folder, which is made if absent; see `Lock`."""
    return Lock(folder, folder / LOCK)


def lock_file(path: pathlib.Path) -> Lock:
    """Locks a file, which may be absent, by a lock file beside it; see `Lock`."""
    return Lock(path, path.with_name(f".{path.name}{LOCK}"))


def _name(owner: str) -> str:
    """Returns the process in a lock file in words."""
    found = re.fullmatch(r"(\d+) (\S+)\n", owner)
    return f"process {found[1]} on {found[2]}" if found else "another process"
