"""A disk that is full: one line and exit code 2, all files as before, and the same command goes on.

A limit on the size of files stands for the disk, since every user may set it.
"""

import contextlib
import json
import os
import pathlib
import resource
import shlex
import subprocess
import sys

import jax
import pytest
from support import damage, small_tournament, tiny_run

from azo import __main__
from azo.games import variant
from azo.play import opening_book
from azo.run import checkpoint, metrics, network_files

CODE = 2


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
    assert __main__.main([str(word) for word in train(tmp_path_factory.mktemp("first"))]) == 0


def contents(folder):
    return {path: path.read_bytes() for path in damage.files(folder) if path.name != ".lock"}


def refused(words, limit, capsys):
    """Runs a command with a limit; returns its message."""
    capsys.readouterr()
    with file_size_limit(limit):
        assert __main__.main([str(word) for word in words]) == CODE
    message = capsys.readouterr().err
    assert message.count("\n") == 1, message
    assert "Traceback" not in message
    assert "File too large" in message
    return message


def train(folder):
    (folder / "tiny.toml").write_text(tiny_run.toml())
    return ["train", "--config", folder / "tiny.toml", "--run.folder", folder / "run"]


def test_a_checkpoint_that_does_not_fit_leaves_the_earlier_ones_and_the_run_goes_on(
    tmp_path, capsys
):
    words = train(tmp_path)
    assert __main__.main([*map(str, words), "--run.num-iterations", "2"]) == 0
    before = contents(tmp_path / "run" / "checkpoints")
    # In a process of its own: threads of Orbax may report exceptions after the save has failed,
    # at any time (docs/reliability.md).
    command = shlex.join([sys.executable, "-m", "azo", *map(str, words)])
    done = subprocess.run(
        ["bash", "-c", f"ulimit -f 10; exec {command}"],  # KiB
        env=os.environ | {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "1e9"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == CODE
    assert "checkpoints/4.partial: not saved (" in done.stderr
    after = contents(tmp_path / "run" / "checkpoints")
    assert {path: content for path, content in after.items() if ".partial" not in str(path)} == (
        before
    )
    assert __main__.main([str(word) for word in words]) == 0
    assert "resuming after iteration 2" in capsys.readouterr().out
    events = metrics.read(tmp_path / "run", "iteration")
    assert [event["iteration"] for event in events] == [1, 2, 3, 4, 5, 6]


def test_metrics_that_do_not_fit_stop_a_run_that_goes_on_later(tmp_path, capsys):
    words = train(tmp_path)
    message = refused(words, 300, capsys)
    assert str(tmp_path / "run") in message
    assert __main__.main([str(word) for word in words]) == 0
    assert capsys.readouterr().err == ""
    events = metrics.read(tmp_path / "run", "iteration")
    assert [event["iteration"] for event in events] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("limit", [0, 100, 1_000, 3_000])
def test_a_tournament_stops_and_goes_on(tmp_path, capsys, limit):
    path = small_tournament.write(tmp_path, small_tournament.SMALL)
    words = ["tournament", path, "--folder", tmp_path / "games"]
    refused(words, limit, capsys)
    assert not list((tmp_path / "games").glob(".*.tmp"))
    games = tmp_path / "games" / "games.jsonl"
    before = games.read_text() if games.exists() else ""
    assert before == "" or before.endswith("}\n")
    assert __main__.main([str(word) for word in words]) == 0
    assert games.read_text().startswith(before)
    assert len(games.read_text().splitlines()) == 18


def test_a_truncated_list_of_players_does_not_block_a_tournament(tmp_path, capsys):
    path = small_tournament.write(tmp_path, small_tournament.SMALL)
    words = ["tournament", str(path), "--folder", str(tmp_path / "games")]
    assert __main__.main(words) == 0
    players = tmp_path / "games" / "players.json"
    whole = players.read_bytes()
    for kind in damage.KINDS[1:4]:
        kind(players)
        broken = players.read_bytes()
        capsys.readouterr()
        assert __main__.main(words) == 0
        message = capsys.readouterr().err
        assert message.startswith(f"{players}: damaged, kept as players.json.damaged; ")
        assert players.read_bytes() == whole
        assert players.with_name("players.json.damaged").read_bytes() == broken


def test_solved_endgames_are_kept(tmp_path, capsys):
    (tmp_path / "a.obf").write_text("-----OX--XO----- X;\n-----OX--XO----- O;\n" * 4)
    words = ["solve", tmp_path / "a.obf", "--output", tmp_path / "solved.jsonl"]
    message = refused(words, 500, capsys)
    assert message.startswith(f"{tmp_path}/solved.jsonl: cannot write here (File too large)")
    before = (tmp_path / "solved.jsonl").read_text()
    assert 0 < before.count("\n") < 8
    assert before.endswith("}\n")
    assert __main__.main([str(word) for word in words]) == 0
    assert (tmp_path / "solved.jsonl").read_text().startswith(before)
    assert (tmp_path / "solved.jsonl").read_text().count("\n") == 8


def test_an_export_leaves_nothing_and_can_be_repeated(tmp_path, capsys):
    with checkpoint.Checkpoints(tmp_path / "run", keep=1) as checkpoints:
        checkpoints.save(1, tiny_run.begin(1), tiny_run.settings())
    words = ["export", tmp_path / "run", tmp_path / "net"]
    for limit in (0, 1_000, 3_400):
        message = refused(words, limit, capsys)
        assert message.startswith(str(tmp_path / "net"))
        assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert __main__.main([str(word) for word in words]) == 0
    network_files.load(tmp_path / "net")


def test_a_book_is_kept(tmp_path, capsys):
    book, games = tmp_path / "a.book", tmp_path / "games.txt"
    opening_book.Book(variant.Variant(8, False)).save(book)
    games.write_text("f5d6c3d3c4f4f6f3\n" * 3)
    before = book.read_bytes()
    words = ["book", "build", book, games, "--from", "archives"]
    message = refused(words, 20, capsys)
    assert message == f"{book}: cannot write here (File too large)\n"
    assert book.read_bytes() == before
    assert __main__.main([str(word) for word in words]) == 0


GARBAGE = b"".join(
    line + b"\n"
    for line in (b"", b"garbage", b"\xff\xfe", b"\0" * 3_000, b"[" * 60_000, b'{"event": 3}')
)


def test_damaged_metrics_do_not_stop_a_run(tmp_path, capsys):
    words = [str(word) for word in train(tmp_path)]
    assert __main__.main([*words, "--run.num-iterations", "2"]) == 0
    file = tmp_path / "run" / metrics.FILE
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([lines[0], GARBAGE, *lines[1:], b'{"torn": 1']))
    capsys.readouterr()
    assert __main__.main(words) == 0
    assert f"{file}: damaged, moved to metrics.jsonl.damaged: line 2 (" in capsys.readouterr().err
    assert file.with_name("metrics.jsonl.damaged").read_bytes() == GARBAGE
    events = metrics.read(tmp_path / "run", "iteration")
    assert [event["iteration"] for event in events] == [1, 2, 3, 4, 5, 6]
    assert capsys.readouterr().err == ""


def test_games_of_damaged_lines_are_played_again(tmp_path, capsys):
    path = small_tournament.write(tmp_path, small_tournament.SMALL)
    words = ["tournament", str(path), "--folder", str(tmp_path / "games")]
    assert __main__.main(words) == 0
    file = tmp_path / "games" / "games.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([GARBAGE, *lines[1:]]))
    capsys.readouterr()
    assert __main__.main(words) == 0
    assert "damaged, moved to games.jsonl.damaged: line 1 (" in capsys.readouterr().err
    assert file.read_bytes().startswith(b"".join(lines[1:]))
    assert len(file.read_bytes().splitlines()) == 18


def test_positions_of_damaged_lines_are_solved_again(tmp_path, capsys):
    (tmp_path / "a.obf").write_text("-----OX--XO----- X;\n-----OX--XO----- O;\n")
    words = ["solve", str(tmp_path / "a.obf"), "--output", str(tmp_path / "solved.jsonl")]
    assert __main__.main(words) == 0
    first, second = (tmp_path / "solved.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "solved.jsonl").write_bytes(GARBAGE + second)
    capsys.readouterr()
    assert __main__.main(words) == 0
    shown = capsys.readouterr()
    assert "solved.jsonl: damaged, skipped: line 1 (" in shown.err
    assert "1 solved, 1 done before" in shown.out
    lines = (tmp_path / "solved.jsonl").read_bytes()
    assert lines.startswith(GARBAGE + second)
    assert json.loads(lines.splitlines()[-1])["lower"] == json.loads(first)["lower"]


@pytest.mark.skipif(not pathlib.Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_standard_output_is_one_line(tmp_path):
    (tmp_path / "a.obf").write_text("-----OX--XO----- X;\n")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "azo", "solve", str(tmp_path / "a.obf")],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=pathlib.Path(__main__.__file__).parents[1],
        )
    assert done.stderr == "output: cannot write (No space left on device)\n"
    assert done.returncode == CODE
