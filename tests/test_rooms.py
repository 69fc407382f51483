"""The layout of the package: rooms, imports and names.

A room imports only from rooms above it, the pure ones neither print, read nor tell time, no imports
form a circle, and a name has one meaning.
"""

import ast
import collections
import functools
import graphlib
import pathlib

import pytest

_PACKAGE = pathlib.Path(__file__).parents[1] / "azo"
# From the first to the last.
_ROOMS = (
    *("games", "storage", "formats", "solver", "search"),
    *("learning", "training", "lab", "play", "compat", "cli"),
)
_PURE_ROOMS = ("games", "search", "learning")
_IMPURE_MODULES = {"io", "os", "pathlib", "sys", "time", "datetime", "logging", "rich"}
_IMPURE_CALLS = {"print", "open", "input"}
_IMPURE_FILES = {
    _PACKAGE / "games" / "host" / "compiling.py",  # numba's cache on disk
    _PACKAGE / "games" / "import_paths.py",  # modules of users, found in the current folder
    _PACKAGE / "games" / "code_identity.py",  # names of the standard library, from `sys`
}


def _name(path):
    return path.relative_to(_PACKAGE).as_posix()


def _dotted(path):
    parts = path.relative_to(_PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


_FILES = sorted(_PACKAGE.rglob("*.py"))
_MODULES = {_dotted(path): path for path in _FILES}
_IN_ROOMS = [path for path in _FILES if path.parent != _PACKAGE]
_PURE = [path for path in _IN_ROOMS if path.relative_to(_PACKAGE).parts[0] in _PURE_ROOMS]


@functools.cache
def _nodes(path):
    return list(ast.walk(ast.parse(path.read_text())))


def _imported(path):
    """Returns the dotted names that a module imports; ruff refuses relative imports."""
    names = []
    for node in _nodes(path):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


@pytest.mark.parametrize("path", _IN_ROOMS, ids=_name)
def test_a_room_imports_only_from_rooms_above(path):
    room = path.relative_to(_PACKAGE).parts[0]
    allowed = _ROOMS[: _ROOMS.index(room) + 1]
    ours = [name.split(".") for name in _imported(path) if name.split(".")[0] == "azo"]
    assert [names for names in ours if len(names) < 2 or names[1] not in allowed] == []


@pytest.mark.parametrize("path", _PURE, ids=_name)
def test_the_pure_rooms_know_no_files_clocks_or_printing(path):
    impure = {name.split(".")[0] for name in _imported(path)} & _IMPURE_MODULES
    calls = [node.func for node in _nodes(path) if isinstance(node, ast.Call)]
    impure |= {call.id for call in calls if isinstance(call, ast.Name)} & _IMPURE_CALLS
    assert bool(impure) == (path in _IMPURE_FILES), impure


def test_no_imports_form_a_circle():
    imports = {}
    for module, path in _MODULES.items():
        names = _imported(path)
        needed = {*names, *(name.rpartition(".")[0] for name in names)}
        imports[module] = needed & set(_MODULES) - {module}
    assert sum(map(len, imports.values())) > 100
    graphlib.TopologicalSorter(imports).prepare()  # raises CycleError


@pytest.mark.parametrize("path", _FILES, ids=_name)
def test_modules_are_imported_under_their_own_names(path):
    aliases = [
        f"{alias.name} as {alias.asname}"
        for node in _nodes(path)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if alias.asname and (getattr(node, "module", None) or alias.name).split(".")[0] == "azo"
    ]
    assert aliases == []


def test_public_classes_have_names_of_their_own():
    places = collections.defaultdict(list)
    for path in _FILES:
        if path.parent.name == "compat":  # names of other packages
            continue
        for node in _nodes(path):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(_name(path))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_few_modules_stand_outside_the_rooms():
    assert {path.parent.name for path in _PACKAGE.glob("*/*.py")} <= set(_ROOMS)
    assert {path.name for path in _PACKAGE.glob("*.py")} == {
        "__init__.py",
        "__main__.py",
        "train.py",
    }
