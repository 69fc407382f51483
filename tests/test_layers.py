"""The layout of the package: layers, imports and names.

A layer imports only from layers above it, also by a path in a text. The pure ones neither print,
read nor tell time. No imports form a circle, and a name has one meaning.
"""

import ast
import collections
import functools
import graphlib
import pathlib
import re

import pytest

_PACKAGE = pathlib.Path(__file__).parents[1] / "azo"
_PAGE = _PACKAGE.parent / "docs" / "design.md"
_TABLE = _PAGE.read_text().partition("## Layers")[2].partition("\n## ")[0]
_ROWS = re.findall(r"^\| (`[^|]*) \|", _TABLE, re.MULTILINE)
_LAYERS = [name for row in _ROWS for name in re.findall(r"`(\w+)`", row)]
_PURE_LAYERS = ("games", "search", "learning")
_IMPURE_MODULES = {"io", "os", "pathlib", "sys", "time", "datetime", "logging", "rich"}
_IMPURE_CALLS = {"print", "open", "input"}
_IMPURE_FILES = {
    _PACKAGE / "games" / "host" / "compiling.py",  # numba's cache on disk
}


def _name(path):
    return path.relative_to(_PACKAGE).as_posix()


def _dotted(path):
    parts = path.relative_to(_PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


_FILES = sorted(_PACKAGE.rglob("*.py"))
_MODULES = {_dotted(path): path for path in _FILES}
_IN_LAYERS = [path for path in _FILES if path.parent != _PACKAGE]
_PURE = [path for path in _IN_LAYERS if path.relative_to(_PACKAGE).parts[0] in _PURE_LAYERS]


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


def _named_in_texts(path):
    """Returns the modules that texts name for a later import; docstrings are for readers."""
    texts = [node.value for node in _nodes(path) if isinstance(node, ast.Constant)]
    return [x for x in texts if isinstance(x, str) and "." in x and x in _MODULES]


@pytest.mark.parametrize("path", _IN_LAYERS, ids=_name)
def test_a_layer_imports_only_from_layers_above(path):
    layer = path.relative_to(_PACKAGE).parts[0]
    allowed = _LAYERS[: _LAYERS.index(layer) + 1]
    names = [*_imported(path), *_named_in_texts(path)]
    ours = [name.split(".") for name in names if name.split(".")[0] == "azo"]
    assert [names for names in ours if len(names) < 2 or names[1] not in allowed] == []


@pytest.mark.parametrize("path", _PURE, ids=_name)
def test_the_pure_layers_know_no_files_clocks_or_printing(path):
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


def test_the_table_of_the_page_has_every_layer_and_few_modules_stand_outside():
    assert len(_LAYERS) == len(set(_LAYERS))
    assert {path.parent.name for path in _PACKAGE.glob("*/*.py")} == set(_LAYERS)
    assert {path.name for path in _PACKAGE.glob("*.py")} == {
        "__init__.py",
        "__main__.py",
        "train.py",
    }
