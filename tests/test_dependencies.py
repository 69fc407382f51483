"""Bounds of dependencies: the locked versions are within them, and each package has a reason."""

import pathlib
import re
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


@pytest.mark.parametrize("package", required("test", "web", "report", "notebook"), ids=str)
def test_the_locked_versions_are_within_the_bounds(package):
    name = re.escape(canonicalize_name(package.name))
    versions = re.findall(rf"^{name}==([^\s;]+)", LOCK, re.MULTILINE)
    assert versions
    assert all(package.specifier.contains(version) for version in versions)


def test_the_lock_names_no_registry():
    assert not re.search(r"://|index-url|find-links", LOCK)


@pytest.mark.parametrize("package", required(*EXTRAS), ids=str)
def test_each_package_has_a_reason(package):
    page = (REPOSITORY / "docs" / "dependencies.md").read_text()
    assert f"`{package.name}`" in page


@pytest.mark.parametrize("package", required("web", "report"), ids=str)
def test_packages_in_use_have_upper_bounds(package):
    has_upper = any(one.operator == "<" for one in package.specifier)
    assert has_upper or package.name == "flatbuffers"  # numbered by dates
