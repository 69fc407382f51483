"""JAX's cache of programs, in a folder of its own."""

import os

import jax
import pytest
from jax.experimental.compilation_cache import compilation_cache
from support.faults import damage

from azo.process import program_cache


@pytest.fixture
def folder(tmp_path):
    """A folder that is the cache, with a program."""
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jax.config, name) for name in names}
    changes = dict(zip(names, (str(tmp_path / "cache"), 0), strict=True))
    program_cache.replace_damaged_entries()
    for values in (changes, before):
        compilation_cache.reset_cache()
        for name, value in values.items():
            jax.config.update(name, value)
        if values is changes:
            yield tmp_path / "cache"
    compilation_cache.reset_cache()


def compile_program():
    """Compiles a program as a new process does, and runs it."""

    def double(x):
        return x * 2 + 1

    assert float(jax.jit(double)(3.0)) == 7


def entry(folder):
    (path,) = folder.glob("jit_double-*-cache")
    return path


@pytest.mark.parametrize("kind", [damage.truncate, damage.empty, damage.zero])
def test_a_damaged_entry_is_named_once_and_replaced(folder, capsys, kind):
    compile_program()
    path = entry(folder)
    size = path.stat().st_size
    kind(path)
    for is_damaged in (True, False):
        compilation_cache.reset_cache()
        capsys.readouterr()
        compile_program()
        message = capsys.readouterr().err
        assert message.startswith(f"{path}: damaged (") == is_damaged
        assert message.endswith("): removed, and compiled again\n") == is_damaged
        assert message.count("\n") == is_damaged
        assert abs(path.stat().st_size - size) < size / 10


def test_a_fifo_in_place_of_an_entry_is_not_waited_for(folder, capsys):
    compile_program()
    path = entry(folder)
    path.unlink()
    os.mkfifo(path)
    compile_program()
    assert capsys.readouterr().err == ""


def test_a_cache_that_cannot_be_written_is_done_without(folder, capsys):
    folder.write_text("no folder")
    compile_program()
    assert capsys.readouterr().err == ""
