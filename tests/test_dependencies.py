"""Bounds of dependencies: the locked versions are within them, and each package has a reason."""

import os
import pathlib
import re
import subprocess
import sys
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPOSITORY = pathlib.Path(__file__).parents[1]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
LOCK = (REPOSITORY / "requirements.lock").read_text()


def required(*extras):
    lines = PROJECT["dependencies"] + [line for extra in extras for line in EXTRAS[extra]]
    return [one for one in map(Requirement, lines) if one.name != "azo"]


@pytest.mark.parametrize(
    "package", required("test", "web", "practice", "report", "notebook"), ids=str
)
def test_the_locked_versions_are_within_the_bounds(package):
    name = re.escape(canonicalize_name(package.name))
    versions = re.findall(rf"^{name}==([^\s;]+)", LOCK, re.MULTILINE)
    assert versions
    assert all(package.specifier.contains(version) for version in versions)


def test_the_lock_names_no_registry():
    assert not re.search(r"://|index-url|find-links", LOCK)


def test_every_locked_package_has_hashes_and_the_build_needs_no_other():
    entries = re.split(r"^(?=[a-z0-9])", LOCK, flags=re.MULTILINE)[1:]
    assert len(entries) > 100
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []
    names = {entry.partition("==")[0] for entry in entries}
    assert {"hatchling", "editables"} <= names


def test_the_lock_is_installed_by_its_hashes(tmp_path):
    stamp = f"{tmp_path}/.installed-test"
    command = ["make", "-n", f"VENV={tmp_path}", "LOCK=requirements.lock", stamp]
    shown = subprocess.check_output(command, cwd=REPOSITORY, text=True)
    lines = [line.partition("version-check ")[2] for line in shown.splitlines() if "pip" in line]
    expected = ["--require-hashes -r requirements.lock", "--no-deps --no-build-isolation -e ."]
    assert lines == expected


@pytest.mark.parametrize("chosen", [None, ""])
def test_ci_fails_if_it_cannot_install_what_was_chosen(tmp_path, chosen):
    for name in ("make", "apt-get"):
        (tmp_path / name).write_text(
            f'#!/bin/sh\necho "$LOCK $*" >> {tmp_path}/{name}.calls\nexit 1\n'
        )
        (tmp_path / name).chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name != "LOCK"}
    environment |= {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    environment |= {} if chosen is None else {"LOCK": chosen}
    done = subprocess.run(
        [REPOSITORY / ".ci" / "run"], env=environment, capture_output=True, text=True
    )
    assert done.returncode != 0
    lock = "requirements.lock" if chosen is None else ""
    thorough = "ARGS=-m 'not slow and not gpu and not faults'"
    assert (tmp_path / "make.calls").read_text() == f"{lock} test {thorough}\n"
    assert (lock or "the newest versions") in done.stdout


@pytest.mark.parametrize("package", required(*EXTRAS), ids=str)
def test_each_package_has_a_reason(package):
    page = (REPOSITORY / "docs" / "notebook" / "dependencies.md").read_text()
    assert f"`{package.name}`" in page


_WITHOUT_PRACTICE = """
import sys
sys.modules["fsrs"] = None
import azo
from azo.cli import analyse, book, web
from azo.web import app, sessions
from azo.cli import play
sys.exit(play.main(["--size", "6", "--level", "1"]))
"""


def test_azo_plays_without_the_library_of_practice(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_PRACTICE],
        input="c2\npractise\nquit\n",
        env=os.environ | {"XDG_STATE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "ply 3: black to move" in done.stdout
    assert "practice in the terminal needs fsrs: python -m pip install fsrs\n" in done.stdout


@pytest.mark.parametrize("package", required("web", "practice", "report"), ids=str)
def test_packages_in_use_have_upper_bounds(package):
    has_upper = any(one.operator == "<" for one in package.specifier)
    assert has_upper or package.name == "flatbuffers"  # numbered by dates
