"""Import paths in settings, such as `my_game:Game`: which are imported, and from where.

An import runs the code of a module, and settings come with third-party files. So a path is imported
only if the user gave it: as a flag or an argument, or by allowing it. A path that only a file names
is refused.
"""

import contextlib
import contextvars
import importlib
import importlib.machinery
import os
import pathlib
import re
import sys
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")

_allowed: set[str] = set()
_loaded: set[str] = set()
_is_from_file = contextvars.ContextVar("is_from_file", default=False)


def is_path(text: str) -> bool:
    """Returns whether a text has the form `package.module:Name`."""
    return bool(_PATH.fullmatch(text))


def allow(paths: Iterable[str], place: str = "allow_imports") -> None:
    """Allows paths in this process; ValueError, one line with the place, for another text."""
    for path in [paths] if isinstance(paths, str) else paths:
        if not is_path(path):
            raise ValueError(
                f"{place} is {path!r}, but should be an import path such as 'package.module:Name'"
            )
        _allowed.add(path)


def allowed() -> tuple[str, ...]:
    """Returns all paths that are allowed."""
    return tuple(sorted(_allowed))


@contextlib.contextmanager
def from_file() -> Iterator[None]:
    """Within the block settings come from a file, and may name only paths that are allowed."""
    token = _is_from_file.set(True)
    try:
        yield
    finally:
        _is_from_file.reset(token)


def refusal(path: str) -> str | None:
    """Returns why a setting may not be this path, or None; one that a program gives is allowed."""
    if not _is_from_file.get():
        _allowed.add(path)
    if path in _allowed:
        return None
    return (
        f"a file does not decide which code runs: if you trust {path.partition(':')[0]}, give"
        f" --allow-import {path}, or allow_imports=[{path!r}] in Python"
    )


def load(setting: str, path: str) -> Any:
    """Returns what `package.module:NAME` names, the value of a setting.

    ValueError, one line, if the path is not allowed, or there is no such module or name; errors
    inside the module are its own.
    """
    with from_file():
        if (reason := refusal(path)) is not None:
            raise ValueError(f"{setting} is {path!r}, but {reason}")
    module_name, _, name = path.partition(":")
    try:
        with _FINDER.looking_for(module_name):
            module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise ValueError(
            f"{setting} is {path!r}, but there is no module {error.name!r}: install it, set"
            " PYTHONPATH to its folder, or start azo there"
        ) from None
    if not hasattr(module, name):
        own = [x for x, y in vars(module).items() if getattr(y, "__module__", "") == module_name]
        there = ", ".join(x for x in own if not x.startswith("_")) or "none"
        raise ValueError(
            f"{setting} is {path!r}, but {module_name} has no {name!r}; its own names: {there}"
        )
    _loaded.add(path)
    return getattr(module, name)


def loaded() -> tuple[Any, ...]:
    """Returns what the paths that were imported name now: a notebook may define a class again."""
    parts = (path.partition(":") for path in sorted(_loaded))
    return tuple(getattr(sys.modules.get(module), name, None) for module, _, name in parts)


class _CurrentFolder:
    """Finds modules in the current folder, last: that of an import path, and those it needs.

    Were the folder in `sys.path`, optional modules of libraries would be found in it too, such as
    the plugins of JAX, and a folder of someone else would run its code in every command.
    """

    def __init__(self) -> None:
        self._wanted: str | None = None

    @contextlib.contextmanager
    def looking_for(self, module: str) -> Iterator[None]:
        """Within the block, the package of this module is found."""
        before, self._wanted = self._wanted, module.partition(".")[0]
        try:
            yield
        finally:
            self._wanted = before

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        if path is not None:  # inside of a package
            return None
        try:
            folder = os.getcwd()
        except OSError:  # it has been removed
            return None
        if name != self._wanted and not _is_imported_by(folder):
            return None
        return importlib.machinery.PathFinder.find_spec(name, [folder], target)


_FINDER = _CurrentFolder()


def search_current_folder() -> None:
    """Lets import paths begin at the current folder, and takes it from the front of `sys.path`.

    `python -m` puts it there.
    """
    with contextlib.suppress(OSError):
        if sys.path and sys.path[0] in ("", os.getcwd()):
            del sys.path[0]
    if not sys.flags.safe_path and _FINDER not in sys.meta_path:
        sys.meta_path.append(_FINDER)


def _is_imported_by(folder: str) -> bool:
    """Returns whether the module that imports is in a folder, and not installed below it."""
    frame: types.FrameType | None = sys._getframe(2)  # that of the import machinery
    while frame is not None and frame.f_globals.get("__name__", "").startswith("importlib"):
        frame = frame.f_back
    file = None if frame is None else frame.f_globals.get("__file__")
    if file is None:
        return False
    place = pathlib.Path(file).resolve()
    installed = (pathlib.Path(sys.prefix).resolve(), pathlib.Path(__file__).resolve().parents[1])
    return place.is_relative_to(pathlib.Path(folder).resolve()) and not any(
        place.is_relative_to(parent) for parent in installed
    )
