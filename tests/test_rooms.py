"""The layout of the package: rooms, imports and names.

A room imports only from rooms above it, the pure ones neither print, read nor tell time, no imports
form a circle, and a name has one meaning.
"""

import ast
import collections
import pathlib

import pytest

_PACKAGE = pathlib.Path(__file__).parents[1] / "azo"
# From the first to the last.
_ROOMS = (
    *("games", "storage", "formats", "solver", "search"),
    *("learning", "training", "lab", "play", "cli"),
)
_PURE_ROOMS = ("games", "search", "learning")
_IMPURE_MODULES = {"io", "os", "pathlib", "sys", "time", "datetime", "logging", "rich"}
_IMPURE_CALLS = {"print", "open", "input"}
_IMPURE_FILES = {_PACKAGE / "games" / "host" / "compiling.py"}  # numba's cache on disk


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


@pytest.mark.parametrize("path", _modules(*_ROOMS), ids=_name)
def test_a_room_imports_only_from_rooms_above(path):
    assert _forbidden_imports(path.read_text(), path) == []


@pytest.mark.parametrize("path", _modules(*_PURE_ROOMS), ids=_name)
def test_the_pure_rooms_know_no_files_clocks_or_printing(path):
    assert bool(_impurities(path.read_text(), path)) == (path in _IMPURE_FILES)


def _package_imports(path):
    """Returns the modules of azo that a module imports, by their dotted names."""
    names = list(_imported(ast.parse(path.read_text()), path))
    return {module for name in names for module in (name, name.rpartition(".")[0])} & set(_MODULES)


def _dotted(path):
    parts = path.relative_to(_PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


_FILES = sorted(_PACKAGE.rglob("*.py"))
_MODULES = {_dotted(path): path for path in _FILES}


def _circles(imports):
    """Returns the modules that import one another in a circle, by Kahn's algorithm."""
    left = {name: set(needs) for name, needs in imports.items()}
    while free := [name for name, needs in left.items() if not needs & set(left)]:
        for name in free:
            del left[name]
    return sorted(left)


def test_no_imports_form_a_circle():
    imports = {name: _package_imports(path) - {name} for name, path in _MODULES.items()}
    assert sum(map(len, imports.values())) > 100
    assert _circles(imports) == []


def _aliases(source):
    """Returns the modules of azo that are imported under another name."""
    nodes = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Import | ast.ImportFrom)]
    return [
        f"{alias.name} as {alias.asname}"
        for node in nodes
        for alias in node.names
        if alias.asname and (getattr(node, "module", None) or alias.name).split(".")[0] == "azo"
    ]


@pytest.mark.parametrize("path", _FILES, ids=_name)
def test_modules_are_imported_under_their_own_names(path):
    assert _aliases(path.read_text()) == []


def test_public_classes_have_names_of_their_own():
    places = collections.defaultdict(list)
    for path in _FILES:
        for node in ast.walk(ast.parse(path.read_text())):
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


def test_a_room_explains_itself():
    for room in _ROOMS:
        text = ast.get_docstring(ast.parse((_PACKAGE / room / "__init__.py").read_text()))
        assert text, room
        assert 3 <= len(text.splitlines()) <= 12, room


@pytest.mark.parametrize("path", _FILES, ids=_name)
def test_imports_name_the_whole_path(path):
    levels = [
        node.level for node in ast.walk(ast.parse(path.read_text())) if hasattr(node, "level")
    ]
    assert not any(levels)
