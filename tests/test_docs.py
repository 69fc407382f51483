"""The pages of the project: their commands are valid, and their links and paths exist."""

import importlib
import pathlib
import re
import shlex

import pytest

from azo import __main__
from azo.cli import command_line

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


def test_every_page_that_azo_names_exists_and_is_in_the_wheel():
    """Help texts, messages and settings files name pages."""
    files = [path for name in ("azo", "configs") for path in (REPOSITORY / name).rglob("*.*")]
    texts = [path.read_text() for path in files if path.suffix in (".py", ".html", ".js", ".toml")]
    named = set(re.findall(r"(?<![\w/])docs/[\w/.-]+\.\w+", "\n".join(texts)))
    assert len(named) > 10
    assert named <= {_name(page) for page in [*PAGES, *NOTEBOOK]}
