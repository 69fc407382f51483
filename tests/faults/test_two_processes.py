"""Two processes that write one folder or file: the second is refused, and changes nothing."""

import os
import socket
import time

import pytest
from support import child_runs, small_queue, small_tournament, tiny_run

from azo import __main__
from azo.formats import locks
from azo.games import variant
from azo.play import opening_book
from azo.run import metrics


def train(folder):
    (folder / "tiny.toml").write_text(tiny_run.toml())
    flags = ["--config", folder / "tiny.toml", "--run.folder", folder / "run"]
    return ["train", *flags], locks.lock_folder(folder / "run")


def tournament(folder):
    path = small_tournament.write(folder, small_tournament.SMALL)
    command = ["tournament", path, "--folder", folder / "games"]
    return command, locks.lock_folder(folder / "games")


def ablate(folder):
    command = ["ablate", small_queue.write(folder), "--folder", folder / "runs"]
    return command, locks.lock_folder(folder / "runs")


def supervise(folder):
    flags = ["--game.name", "tictactoe", "--source", "random", "--num-games", "64"]
    return ["supervise", "--folder", folder / "new", *flags], locks.lock_folder(folder / "new")


def solve(folder):
    (folder / "a.obf").write_text("-----OX--XO----- X;\n")
    output = folder / "solved.jsonl"
    return ["solve", folder / "a.obf", "--output", output], locks.lock_file(output)


def build_book(folder):
    (folder / "games.txt").write_text("f5d6c3\n")
    book = folder / "a.book"
    return ["book", "build", book, folder / "games.txt", "--from", "archives"], locks.lock_file(
        book
    )


def learn_book(folder):
    book = folder / "a.book"
    opening_book.Book(variant.Variant(8, False)).save(book)
    return ["play", "--book", book, "--learn"], locks.lock_file(book)


@pytest.mark.parametrize(
    "prepare", [train, tournament, ablate, supervise, solve, build_book, learn_book]
)
def test_the_second_process_is_refused_in_one_line_and_changes_nothing(tmp_path, prepare, capsys):
    command, lock = prepare(tmp_path)
    before = _contents(tmp_path)
    with lock:
        assert __main__.main([str(word) for word in command]) == 2
    message = capsys.readouterr().err
    assert f": in use by process {os.getpid()} on {socket.gethostname()}: wait until" in message
    assert message.count("\n") == 1
    assert _contents(tmp_path) == before


@pytest.mark.faults
def test_of_runs_that_start_at_once_one_trains_and_is_not_disturbed(tmp_path):
    folder = tmp_path / "run"
    command = child_runs.command(tmp_path, run={"num_iterations": 60})
    runs = [child_runs.start(command) for _ in range(3)]
    ends = [(process.communicate(timeout=300)[1], process.returncode) for process in runs]
    assert sorted(code for _, code in ends) == [0, 2, 2]
    for message, code in ends:
        assert ("in use by process" in message) == (code == 2), message
        assert "Traceback" not in message
    assert [event["iteration"] for event in metrics.read(folder, "iteration")] == [*range(1, 61)]


@pytest.mark.faults
def test_a_killed_runs_folder_is_taken_over(tmp_path):
    folder = tmp_path / "run"
    command = child_runs.command(tmp_path, run={"num_iterations": 100000})
    first = child_runs.start(command)
    deadline = time.monotonic() + 200
    while not metrics.read(folder, "iteration"):
        assert first.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.2)
    second = child_runs.start(command)
    message = second.communicate(timeout=200)[1]
    assert f"in use by process {first.pid} on" in message
    assert second.returncode == 2
    first.kill()
    first.communicate()
    third = child_runs.start([*command, "--run.num-iterations", "1"])
    assert third.communicate(timeout=200)[1] == ""
    assert third.returncode == 0


def _contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
