"""A disk that is full: one line and exit code 2, all files as before, and the same command goes on.

A limit on the size of files stands for the disk, since every user may set it.
"""

import contextlib
import os
import pathlib
import resource
import shlex
import subprocess

import jax
import pytest
from support.builders import small_tournament, tiny_run
from support.drivers import commands
from support.faults import damage

from azo import __main__
from azo.engine import opening_book
from azo.games import variant
from azo.training import checkpoint


@contextlib.contextmanager
def file_size_limit(num_bytes):
    """Refuses to make files longer than this, with EFBIG in place of ENOSPC."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    seconds = jax.config.jax_persistent_cache_min_compile_time_secs
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 1e9)  # stores no program
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, hard))
    try:
        yield
    finally:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", seconds)
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture(scope="module", autouse=True)
def compiled(tmp_path_factory):
    """Fills JAX's cache of programs."""
    assert commands.run(*tiny_run.train(tmp_path_factory.mktemp("first"))) == 0


def refused(words, limit, capsys):
    """Runs a command with a limit; returns its message."""
    with file_size_limit(limit):
        message = commands.refused(capsys, *words)
    assert "File too large" in message
    return message


@pytest.mark.thorough
def test_a_checkpoint_that_does_not_fit_leaves_the_earlier_ones_and_the_run_goes_on(
    tmp_path, capsys
):
    words = tiny_run.train(tmp_path)
    assert commands.run(*words, "--run.num-iterations", 2) == 0
    before = damage.contents(tmp_path / "run" / "checkpoints")
    # In a process of its own: threads of Orbax go on after the save has failed, up to its end.
    command = shlex.join(commands.azo(*words))
    done = subprocess.run(
        ["bash", "-c", f"ulimit -f 10; exec {command}"],  # KiB
        env=os.environ | {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "1e9"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == (f"{tmp_path}/run/checkpoints/4: cannot write here (File too large)\n")
    after = damage.contents(tmp_path / "run" / "checkpoints")
    assert {path: content for path, content in after.items() if ".tmp" not in str(path)} == before
    assert commands.run(*words) == 0
    assert "resuming after iteration 2" in capsys.readouterr().out
    assert tiny_run.iterations(tmp_path / "run") == [1, 2, 3, 4, 5, 6]


def test_metrics_that_do_not_fit_stop_a_run_that_goes_on_later(tmp_path, capsys):
    words = tiny_run.train(tmp_path)
    message = refused(words, 300, capsys)
    assert str(tmp_path / "run") in message
    assert commands.run(*words) == 0
    assert capsys.readouterr().err == ""
    assert tiny_run.iterations(tmp_path / "run") == [1, 2, 3, 4, 5, 6]


def tournament(folder):
    path = small_tournament.write(folder, small_tournament.SMALL)
    return ["tournament", path, "--folder", folder / "games"]


def export(folder):
    with checkpoint.Checkpoints(folder / "run", keep=1) as checkpoints:
        checkpoints.save(1, tiny_run.begin(1), tiny_run.settings())
    return ["export", folder / "run", folder / "net"]


def build_book(folder):
    opening_book.Book(variant.Variant(8, False)).save(folder / "a.book")
    growth = ["--growth.num-positions", "3", "--engine.num-simulations", "16"]
    return ["book", "build", folder / "a.book", *growth]


@pytest.mark.parametrize(
    ("prepare", "limit"),
    [
        *((tournament, 0), (tournament, 1_000)),
        *((export, 0), (export, 1_000), (export, 3_400), (build_book, 20)),
    ],
)
def test_files_stay_as_they_were_or_gain_whole_lines_and_the_command_goes_on(
    prepare, limit, tmp_path, capsys
):
    words = prepare(tmp_path)
    before = damage.contents(tmp_path)
    assert str(tmp_path) in refused(words, limit, capsys)
    after = damage.contents(tmp_path)
    assert {path: after[path] for path in before} == before
    lines = {path: content for path, content in after.items() if path not in before}
    assert all(path.suffix in (".jsonl", ".log") for path in lines)
    assert all(content == b"" or content.endswith(b"}\n") for content in lines.values())
    assert commands.run(*words) == 0
    finished = damage.contents(tmp_path)
    assert all(finished[path].startswith(content) for path, content in lines.items())


@pytest.mark.skipif(not pathlib.Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_standard_output_is_one_line(tmp_path):
    (tmp_path / "a.obf").write_text("-----OX--XO----- X;\n")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            commands.azo("solve", tmp_path / "a.obf"),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=pathlib.Path(__main__.__file__).parents[1],
        )
    assert done.stderr == "output: cannot write (No space left on device)\n"
    assert done.returncode == 2
