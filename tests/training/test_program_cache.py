"""JAX's cache of programs, by processes that compile a small one."""

import os
import subprocess
import sys

import pytest
from support import damage

SCRIPT = """
import jax
from azo.training import devices
devices.keep_programs()
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
print(float(jax.jit(lambda x: x * 2 + 1)(3.0)))
"""


def compile_program(folder):
    """Returns what a process shows on standard error."""
    environment = os.environ | {"XDG_CACHE_HOME": str(folder), "JAX_PLATFORMS": "cpu"}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "7.0\n"
    return done.stderr


def entry(folder):
    (path,) = (folder / "azo" / "jax").glob("*-cache")
    return path


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    assert compile_program(folder) == ""
    return folder


@pytest.mark.parametrize("kind", [damage.truncate, damage.empty, damage.zero])
def test_a_damaged_entry_is_named_once_and_replaced(filled, kind):
    path = entry(filled)
    size = path.stat().st_size
    kind(path)
    message = compile_program(filled)
    assert message.startswith(f"{path}: damaged (")
    assert message.endswith("): removed, and compiled again\n")
    assert message.count("\n") == 1
    assert abs(path.stat().st_size - size) < size / 10
    assert compile_program(filled) == ""


def test_a_fifo_in_place_of_an_entry_is_not_waited_for(filled):
    path = entry(filled)
    content = path.read_bytes()
    path.unlink()
    os.mkfifo(path)
    assert compile_program(filled) == ""
    path.unlink()
    path.write_bytes(content)


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path):
    (tmp_path / "azo").write_text("no folder")
    assert compile_program(tmp_path) == ""
