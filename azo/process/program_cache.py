"""Compiled programs: those that this process holds, and JAX's cache on disk.

Damaged entries of the cache are replaced.

JAX itself warns of a damaged entry at each start, compiles the program again, and keeps the entry,
since it writes none whose name is taken (jax 0.10: `LRUCache.put`). An entry is cut short if its
process is killed, or the disk is full, while JAX writes it.
"""

import contextlib
import functools
import os
import pathlib
import sys
from typing import Any

import jax
from jax._src import compilation_cache

from azo.storage import files

PROGRAMS: dict[Any, Any] = {}
"""The latest programs of runs of this process, by what they depend on; see `add`."""
_MOST_PROGRAMS = 4
_SECONDS_TO_STORE = 0.2  # programs that took longer to compile are stored on disk
_SUFFIX = "-cache"  # of JAX's names


def add(key: Any, program: Any) -> None:
    """Holds a program, by what it depends on, in place of the oldest one."""
    PROGRAMS[key] = program
    if len(PROGRAMS) > _MOST_PROGRAMS:
        del PROGRAMS[next(iter(PROGRAMS))]


def enable() -> None:
    """Lets JAX store compiled programs in the user's cache, unless a folder is set.

    Damaged ones are replaced.
    """
    replace_damaged_entries()
    if jax.config.jax_compilation_cache_dir is None:  # type: ignore[attr-defined]
        base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
        jax.config.update("jax_compilation_cache_dir", str(pathlib.Path(base) / "azo" / "jax"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", _SECONDS_TO_STORE)


def replace_damaged_entries() -> None:
    """Lets JAX compile a program again, and keep it, if its entry is damaged."""
    if not hasattr(compilation_cache.get_executable_and_time, "__wrapped__"):
        compilation_cache.get_executable_and_time = _reader(
            compilation_cache.get_executable_and_time
        )
        compilation_cache.put_executable_and_time = _writer(
            compilation_cache.put_executable_and_time
        )


def _reader(read: Any) -> Any:
    @functools.wraps(read)
    def get_executable_and_time(cache_key: str, *arguments: Any, **named: Any) -> Any:
        path = _entry(cache_key)
        if path is not None and not path.is_file():  # a FIFO would be waited for
            return None, None
        try:
            return read(cache_key, *arguments, **named)
        except OSError:  # says nothing of the entry
            return None, None
        except Exception as error:  # of zlib, or of XLA
            if path is None:
                raise
            with contextlib.suppress(OSError):
                path.unlink()
            reason = files.one_line(error, 100)
            line = f"{path}: damaged ({reason}): removed, and compiled again"
            print(files.one_line(line), file=sys.stderr, flush=True)
            return None, None

    return get_executable_and_time


def _writer(write: Any) -> Any:
    @functools.wraps(write)
    def put_executable_and_time(cache_key: str, *arguments: Any, **named: Any) -> None:
        path = _entry(cache_key)
        is_new = path is not None and not os.path.lexists(path)
        try:
            write(cache_key, *arguments, **named)
        except OSError:  # azo does without the entry, such as on a full disk
            if path is not None and is_new:
                with contextlib.suppress(OSError):
                    path.unlink()

    return put_executable_and_time


def _entry(cache_key: str) -> pathlib.Path | None:
    """Returns the path of an entry, None for a cache that is not a folder of this system."""
    cache = compilation_cache._cache  # None before the first read
    folder = cache._path if cache else jax.config.jax_compilation_cache_dir  # type: ignore
    if not folder or "://" in str(folder):
        return None
    return pathlib.Path(str(folder)) / f"{cache_key}{_SUFFIX}"
