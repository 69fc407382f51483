"""Errors of the system at chosen calls, as of a faulty disk or of missing rights."""

import builtins
import errno
import io
import os
import stat

READ_ERRORS = (errno.EIO, errno.EACCES, errno.EMFILE, errno.ESTALE)


def unreadable(monkeypatch, path, number=errno.EIO):
    """Lets each call that opens a file fail."""
    place = os.path.realpath(path)

    def failing(call):
        def opened(file, *arguments, **named):
            base = named.get("dir_fd")
            if not isinstance(file, int):
                where = f"/proc/self/fd/{base}" if base is not None else os.getcwd()
                if os.path.realpath(os.path.join(os.path.realpath(where), file)) == place:
                    raise OSError(number, os.strerror(number), os.fspath(file))
            return call(file, *arguments, **named)

        return opened

    for module, name in ((os, "open"), (io, "open"), (builtins, "open")):
        monkeypatch.setattr(module, name, failing(getattr(module, name)))


def unlisted(monkeypatch, folder, number=errno.EIO):
    """Lets each call that lists a folder fail."""
    place, scandir = os.path.realpath(folder), os.scandir

    def listed(path="."):
        if not isinstance(path, int) and os.path.realpath(path) == place:
            raise OSError(number, os.strerror(number), os.fspath(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", listed)


def failing_sync(monkeypatch, number=errno.EIO, *, of_folders=True, after=0):
    """Lets `os.fsync` of folders, or of files, fail after a number of successes.

    Returns a list, to which the numbers of the inodes of each call are added.
    """
    sync, calls = os.fsync, []

    def fsync(descriptor):
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode) == of_folders:
            calls.append(status.st_ino)
            if len(calls) > after:
                raise OSError(number, os.strerror(number))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    return calls
