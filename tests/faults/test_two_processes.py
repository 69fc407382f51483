"""Two processes that write one folder or file: the second is refused, and changes nothing."""

import os
import socket

import pytest
from support.builders import small_tournament, tiny_run
from support.drivers import commands
from support.faults import damage

from azo.engine import opening_book
from azo.games import variant
from azo.storage import locks


def cases(folder):
    """Returns commands, and the kind and the target of the lock that each takes."""
    cup = small_tournament.write(folder, small_tournament.SMALL)
    opening_book.Book(variant.Variant(8, False)).save(folder / "a.book")
    supervise = ["--game.name", "tictactoe", "--source", "random", "--num-games", "64"]
    new, build = folder / "new", ["book", "build", folder / "a.book"]
    return {
        "train": (tiny_run.train(folder, name="new"), locks.lock_folder, new),
        "tournament": (["tournament", cup, "--folder", new], locks.lock_folder, new),
        "supervise": (["supervise", "--folder", new, *supervise], locks.lock_folder, new),
        "book": (build, locks.lock_file, folder / "a.book"),
    }


COMMANDS = ("train", "tournament", "supervise", "book")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_second_process_is_refused_in_one_line_and_changes_nothing(tmp_path, name, capsys):
    command, lock, target = cases(tmp_path)[name]
    with lock(target):
        before = damage.contents(tmp_path)
        message = commands.refused(capsys, *command)
    assert f": in use by process {os.getpid()} on {socket.gethostname()}: wait until" in message
    assert damage.contents(tmp_path) == before


@pytest.mark.faults
def test_of_runs_that_start_at_once_one_trains_and_is_not_disturbed(tmp_path):
    command = tiny_run.train(tmp_path, run={"num_iterations": 60})
    runs = [commands.start(*command) for _ in range(3)]
    ends = [(process.communicate(timeout=300)[1], process.returncode) for process in runs]
    assert sorted(code for _, code in ends) == [0, 2, 2]
    for message, code in ends:
        assert ("in use by process" in message) == (code == 2), message
        assert "Traceback" not in message
    assert tiny_run.iterations(tmp_path / "run") == [*range(1, 61)]
