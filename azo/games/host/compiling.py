"""Compiles functions for the host by numba, and keeps the machine code on disk.

numba's own cache does not notice an edited function or constant that a function of another module
uses, loads machine code unchecked, and raises errors at a damaged file. Here a function is compiled
again if its module has changed, or any module of azo that this one imports, or if a file of the
cache is damaged.
"""

import contextlib
import functools
import hashlib
import inspect
import os
import pathlib
import pickle
import re
from typing import Any

import numba
from numba.core import caching, config, sigutils
from numba.core.runtime import nrt

# numba reads a file of settings in the current folder, which may be a folder of someone else, and
# one of them names the folder of the compiled functions. The environment has them too.
config._config_fname = os.devnull
numba.config.reload_config()

_ROOT = pathlib.Path(__file__).parents[3]
_IMPORT = re.compile(r"^from (azo[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)


def jit(function: Any, fastmath: bool | set[str] = False) -> Any:
    """Compiles a function, or loads it from its cache on disk."""
    compiled = numba.njit(nogil=True, error_model="numpy", fastmath=fastmath)(function)
    compiled._cache = _Cache(function)
    return compiled


class _Cache(caching.FunctionCache):
    """The compiled versions of a function.

    numba's own class first imports all that numba can compile, and SciPy: 0.4 s at each start.
    A compilation imports it anyway.
    """

    def __init__(self, function: Any):
        super().__init__(function)
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, _stamp_of(function))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Returns the function compiled for a signature, or None if it is not in the cache."""
        nrt.rtsys.initialize(target_context)
        try:
            return self._load_overload(sig, target_context)
        except Exception:  # whatever pickle raises; also for classes of an earlier version
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Saves a compiled function, if the disk has room."""
        with contextlib.suppress(OSError):
            self._save_overload(sig, data)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        """Returns what names a version; `fixed_depth.register` gives classes their own code."""
        kinds, _ = sigutils.normalize_signature(sig)
        classes = [kind.instance_class for kind in kinds if hasattr(kind, "instance_class")]
        return super()._index_key(sig, codegen), tuple(map(_stamp_of, classes))


class _Files(caching.IndexDataCacheFile):
    """The files of a function, with checksums: damaged machine code could do anything."""

    def save(self, key: Any, data: Any) -> None:
        """Saves a version."""
        content = self._dump(data)
        super().save(key, (hashlib.sha256(content).digest(), content))

    def load(self, key: Any) -> Any:
        """Returns a version, or None if there is none; raises an error if a file is damaged."""
        stored = super().load(key)
        if stored is None:
            return None
        digest, content = stored
        if digest != hashlib.sha256(content).digest():
            raise ValueError("damaged")
        return pickle.loads(content)


def _stamp_of(function_or_class: Any) -> bytes:
    return _stamp(pathlib.Path(inspect.getfile(function_or_class)))


@functools.cache
def _stamp(file: pathlib.Path) -> bytes:
    """Returns a digest of a module and of all modules of azo that it imports."""
    source = file.read_text(encoding="utf-8")
    digest = hashlib.sha256(source.encode())
    for module, names in _IMPORT.findall(source):
        place = _ROOT.joinpath(*module.split("."))
        for imported in (place, *(place / name for name in re.findall(r"\w+", names))):
            path = imported.with_suffix(".py")
            if path.is_file():
                digest.update(_stamp(path))
    return digest.digest()
