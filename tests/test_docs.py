"""The pages of the project: their commands are valid, and their links and paths exist."""

import ast
import collections
import functools
import importlib
import pathlib
import re
import shlex

import pytest

import azo
from azo import __main__
from azo.cli import command_line
from azo.settings import setting_types
from azo.training import config

REPOSITORY = pathlib.Path(__file__).parents[1]
PAGES = sorted(
    path
    for folder in (".", "docs", "benchmarks", "tests/data")
    for path in (REPOSITORY / folder).glob("*.md")
)
NOTEBOOK = sorted((REPOSITORY / "docs" / "notebook").glob("*.md"))  # its commands are of their day
CONFIGS = sorted((REPOSITORY / "configs").rglob("*.toml"))
SHORT_FORMS = REPOSITORY / "CHANGELOG.md"  # names flags without required arguments
PLACEHOLDERS = {"SEED": "0", "N": "1", "LEVEL": "1"}


def _name(path):
    return path.relative_to(REPOSITORY).as_posix()


def _commands(text):
    """Returns the arguments of each `azo COMMAND ...` in fenced or inline code, or in comments."""
    text = text.replace("\\\n", " ")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    fenced = [block for language, block in blocks if not language]
    lines = "\n".join(fenced).splitlines() + re.findall(r"^#   (azo .*)$", text, re.MULTILINE)
    inline = re.findall(r"`(azo [^`]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
    matches = []
    for line in [*lines, *(" ".join(code.split()) for code in inline)]:
        start = re.search(r"(?:^|[\s|])azo ", line)
        words = shlex.split(line[start.end() :], comments=True) if start else []
        words = words[: words.index("&")] if "&" in words else words
        if words and re.fullmatch("[a-z]+", words[0]) and "..." not in words:
            matches.append([PLACEHOLDERS.get(word, word) for word in words])
    return matches


class _Parsed(Exception):
    """The flags are valid; the command itself is not run."""


@pytest.mark.parametrize("path", sorted({*PAGES, *CONFIGS} - {SHORT_FORMS}), ids=_name)
def test_commands_of_the_pages_have_valid_flags(path, monkeypatch):
    parse = command_line.parse

    def parse_only(*args, **settings):
        parse(*args, **settings)
        raise _Parsed

    monkeypatch.chdir(REPOSITORY)
    monkeypatch.setattr(command_line, "parse", parse_only)
    for name, *flags in _commands(path.read_text()):
        assert name in __main__.COMMANDS, f"azo {name}"
        if flags in ([], ["--help"]):
            importlib.import_module(f"azo.cli.{name}")
            continue
        try:
            importlib.import_module(f"azo.cli.{name}").main(flags)
        except _Parsed:
            continue
        except ValueError as error:
            pytest.fail(f"azo {name} {shlex.join(flags)}: {error}")
        pytest.fail(f"azo {name} {shlex.join(flags)}: not parsed")


@pytest.mark.parametrize("path", PAGES + NOTEBOOK, ids=_name)
def test_links_of_the_pages_lead_to_files_and_headings(path):
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        file, _, anchor = target.partition("#")
        if "//" in target:
            continue
        page = path.parent / file if file else path
        assert page.exists(), f"{_name(path)}: no file {target}"
        if anchor:
            assert anchor in _anchors(page.read_text()), f"{_name(path)}: no heading {target}"


def _anchors(text):
    """Returns the anchors of a page's headings, as GitHub forms them."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES + NOTEBOOK, ids=_name)
def test_no_page_needs_files_beside_the_repository(path):
    assert "../shared" not in path.read_text()


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_paths_that_the_pages_name_exist(path):
    text, roots = path.read_text(), "azo|tests|configs|docs|benchmarks|scripts|examples"
    for named in re.findall(rf"(?<![\w./-])(?:{roots})/[\w./-]+\w", text):
        assert (REPOSITORY / named).exists(), f"{_name(path)}: no file {named}"
    modules = [file.as_posix() for file in (REPOSITORY / "azo").rglob("*.py")]
    for named in re.findall(r"`([a-z_/]+\.py)`", text):
        places = (REPOSITORY / named, path.parent / named)
        is_module = any(module.endswith(f"/{named}") for module in modules)
        assert is_module or any(x.exists() for x in places), f"{_name(path)}: no module {named}"


FILES_OF_RUNS = ("json", "jsonl", "md", "npz", "py", "toml", "txt", "jaxexport")
OF_OTHERS = {"mctx.search", "pgx.api_test", "azo.engines"}  # of other packages, and a logger


@functools.cache
def _modules():
    """Returns the files of azo's modules by their names."""
    modules = collections.defaultdict(list)
    for path in (REPOSITORY / "azo").rglob("*.py"):
        modules[path.parent.name if path.stem == "__init__" else path.stem].append(path)
    return modules


@functools.cache
def _names(path):
    """Returns the names that a module defines: functions, classes, fields, constants, modules."""
    names = {child.stem for child in path.parent.iterdir()} if path.stem == "__init__" else set()
    for node in ast.walk(ast.parse(path.read_text())):
        names |= {getattr(node, "name", None), getattr(node, "asname", None)}
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.id if isinstance(node, ast.Name) else node.attr)
    return names


def _is_defined(module, name):
    """Returns whether `module.name` in backticks is something of azo, or nothing that looks so."""
    settings = setting_types.fields_of(config.Config)
    if f"{module}.{name}" in OF_OTHERS:
        return True
    if module == "azo":
        return hasattr(azo, name) or (REPOSITORY / "azo" / name).is_dir()
    if module == "config":  # an argument of many functions
        return name in {setting.rpartition(".")[2] for setting in settings}
    is_setting = f"{module}.{name}" in {*settings, *(x.rpartition(".")[0] for x in settings)}
    is_other = name in FILES_OF_RUNS
    files = _modules().get(module, [])
    return not files or is_setting or is_other or any(name in _names(path) for path in files)


def _unresolved(text):
    """Returns the names in backticks, with a module in front, that azo does not define."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    named = re.findall(r"(?<!`)`(?:azo\.(?:\w+\.)*)?(\w+)\.(\w+)(?:\([^`]*\))?`", text)
    named += [("azo", name) for name in re.findall(r"`azo\.(\w+)(?:\([^`]*\))?`", text)]
    return [".".join(words) for words in named if not _is_defined(*words)]


@pytest.mark.parametrize("path", sorted({*PAGES} - {SHORT_FORMS}), ids=_name)
def test_names_in_backticks_are_defined(path):
    assert _unresolved(path.read_text()) == []


def test_names_in_docstrings_are_defined():
    missing = {}
    for path in (REPOSITORY / "azo").rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text()))
        texts = [x.value for x in nodes if isinstance(x, ast.Constant) and isinstance(x.value, str)]
        missing[_name(path)] = _unresolved("\n".join(texts))
    assert {path: names for path, names in missing.items() if names} == {}


def test_a_name_that_moved_is_found():
    assert _unresolved("`selfplay.play` and `improvement._gumbel`") == ["improvement._gumbel"]


def test_every_page_that_azo_names_exists_and_is_in_the_wheel():
    """Help texts, messages and settings files name pages."""
    files = [path for name in ("azo", "configs") for path in (REPOSITORY / name).rglob("*.*")]
    texts = [path.read_text() for path in files if path.suffix in (".py", ".html", ".js", ".toml")]
    named = set(re.findall(r"(?<![\w/])docs/[\w/.-]+\.\w+", "\n".join(texts)))
    assert len(named) > 10
    assert named <= {_name(page) for page in [*PAGES, *NOTEBOOK]}
