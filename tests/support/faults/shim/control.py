"""The shim, as Python sees it: faults in system calls below a folder, and a log of its changes.

`library` compiles it; a process that was started with `environment` controls it by the other
functions.
"""

import contextlib
import ctypes
import functools
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).with_name("shim.c")
GROUPS = (
    "open", "read", "write", "fsync", "fsync of a folder", "rename", "unlink", "rmdir", "mkdir",
    "truncate", "link", "close", "stat", "read of a folder", "flock", "mmap", "chmod", "access",
    "fadvise", "allocate",
)  # fmt: skip
SHORT = 0
"""In place of an error: the call moves half of its bytes."""

_PATH = "AZO_TEST_SHIM"


def library(folder: pathlib.Path) -> pathlib.Path | None:
    """Returns the compiled shim, made in a folder; None if there is no compiler or no Linux."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or sys.platform != "linux":
        return None
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:12]
    path = folder / f"shim-{digest}.so"
    if not path.exists():
        partial = path.with_suffix(f".{os.getpid()}")
        flags = ["-std=gnu11", "-O1", "-Wall", "-Werror", "-shared", "-fPIC"]
        command = [compiler, *flags, "-o", str(partial), str(SOURCE), "-ldl", "-lpthread"]
        subprocess.run(command, check=True)
        partial.replace(path)
    return path


def environment(shim: pathlib.Path) -> dict[str, str]:
    """Returns the variables with which a process loads the shim."""
    return {"LD_PRELOAD": str(shim), _PATH: str(shim)}


@functools.cache
def _shim() -> ctypes.CDLL:
    shim = ctypes.CDLL(os.environ[_PATH])
    shim.shim_watch.argtypes = [ctypes.c_char_p]
    shim.shim_fail.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_int, ctypes.c_uint64]
    shim.shim_mark.argtypes = [ctypes.c_char_p]
    shim.shim_calls.restype = ctypes.c_long
    shim.shim_failed.restype = ctypes.c_char_p
    shim.shim_watch(os.fsencode(SOURCE.parent))
    SOURCE.exists()
    assert shim.shim_calls(), "the process was not started under the shim"
    return shim


def mask(*names: str) -> int:
    """Returns groups of calls as bits."""
    return sum(1 << GROUPS.index(name) for name in names)


@contextlib.contextmanager
def watching(folder: pathlib.Path):
    """Counts within the block the calls that touch a folder."""
    _shim().shim_watch(os.fsencode(folder.resolve()))
    try:
        yield
    finally:
        _shim().shim_watch(None)


@contextlib.contextmanager
def failing(folder: pathlib.Path, first: int, error: int, *, groups: int, number: int = 1):
    """Lets calls that touch a folder fail within the block, `number` of them from the `first`.

    -1 is every later one. Only calls of the groups, see `mask`, count.
    """
    with watching(folder):
        _shim().shim_fail(first, number, error, groups)
        yield


def num_calls() -> int:
    """Returns how many calls have touched the watched folder."""
    return _shim().shim_calls()


def failed() -> str:
    """Returns the name of the first call that failed and its path, "" if none has."""
    return os.fsdecode(_shim().shim_failed())


def mark(text: str) -> None:
    """Writes a mark into the log."""
    _shim().shim_mark(text.encode())


@contextlib.contextmanager
def logging(path: pathlib.Path):
    """Writes within the block a log, outside of the watched folder."""
    _shim().shim_log(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666))
    try:
        yield
    finally:
        _shim().shim_log(-1)
