"""Rooms import only from rooms above them, and the pure ones neither print, read nor tell time."""

import ast
import pathlib

import pytest

_PACKAGE = pathlib.Path(__file__).parents[1] / "azo"
_ROOMS = ("games", "formats", "solver", "search", "learning", "measure", "run", "play", "cli")
_PURE_ROOMS = ("games", "search", "learning")
_IMPURE_MODULES = {"io", "os", "pathlib", "sys", "time", "datetime", "logging", "rich"}
_IMPURE_CALLS = {"print", "open", "input"}


def _modules(*rooms):
    return sorted(path for room in rooms for path in (_PACKAGE / room).rglob("*.py"))


def _name(path):
    return path.relative_to(_PACKAGE).as_posix()


def _imported(tree, path):
    """Returns the dotted names that a module imports, relative ones made absolute."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            package = ("azo", *path.relative_to(_PACKAGE).parent.parts)
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*above, *([node.module] if node.module else [])])
            names += [f"{module}.{alias.name}" for alias in node.names]
    return names


def _forbidden_imports(source, path):
    """Returns what a module of a room imports of azo although it is not above that room."""
    room = path.relative_to(_PACKAGE).parts[0]
    allowed = _ROOMS[: _ROOMS.index(room) + 1]
    ours = [name for name in _imported(ast.parse(source), path) if name.split(".")[0] == "azo"]
    return [name for name in ours if len(name.split(".")) < 2 or name.split(".")[1] not in allowed]


def _impurities(source, path):
    """Returns the modules that a module imports, and the functions it calls, to reach outside."""
    tree = ast.parse(source)
    names = [name for name in _imported(tree, path) if name.split(".")[0] in _IMPURE_MODULES]
    calls = [
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in _IMPURE_CALLS
    ]
    return names + calls


def test_every_folder_is_a_known_room():
    folders = {path.parent.name for path in _PACKAGE.glob("*/*.py")}
    assert folders <= set(_ROOMS)


@pytest.mark.parametrize("path", _modules(*_ROOMS), ids=_name)
def test_a_room_imports_only_from_rooms_above(path):
    assert _forbidden_imports(path.read_text(), path) == []


@pytest.mark.parametrize("path", _modules(*_PURE_ROOMS), ids=_name)
def test_the_pure_rooms_know_no_files_clocks_or_printing(path):
    assert _impurities(path.read_text(), path) == []


@pytest.mark.parametrize("path", sorted(_PACKAGE.rglob("*.py")), ids=_name)
def test_modules_are_imported_from_azo_by_their_full_name(path):
    levels = [
        node.level for node in ast.walk(ast.parse(path.read_text())) if hasattr(node, "level")
    ]
    assert not any(levels)


@pytest.mark.parametrize(
    "source",
    [
        "from azo.learning import loop",
        "import azo.measure.arena",
        "from azo import config",
        "from azo import learning",
        "import azo",
        "from ..learning import loop",
        "def f():\n    from azo.learning import loop",
    ],
)
def test_an_import_from_below_would_be_found(source):
    assert _forbidden_imports(source, _PACKAGE / "search" / "policy.py")


@pytest.mark.parametrize(
    "source", ["import time", "from time import monotonic", "print(1)", "open('a')"]
)
def test_an_impurity_would_be_found(source):
    assert _impurities(source, _PACKAGE / "games" / "othello.py")
