"""Signals to whole programs: what was done is saved, and the same command goes on."""

import os
import signal
import threading
import time

import pytest
from support.builders import small_tournament, tiny_run
from support.drivers import commands

from azo import __main__
from azo.storage import journal
from azo.training import checkpoint, trainer

LIMIT_SECONDS = 200


def latest(folder):
    with checkpoint.Checkpoints(folder / "run", keep=9) as checkpoints:
        return checkpoints.latest_step


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_a_run_starts_ends_it_before_the_first_iteration(
    tmp_path, monkeypatch, capsys, number
):
    begin = trainer.Trainer.announce

    def announce(self, first, reason):
        begin(self, first, reason)
        os.kill(os.getpid(), number)

    monkeypatch.setattr(trainer.Trainer, "announce", announce)
    assert commands.run(*tiny_run.train(tmp_path)) == 0
    assert "stopped before iteration 1: nothing to save" in capsys.readouterr().out
    assert tiny_run.iterations(tmp_path / "run") == []
    assert latest(tmp_path) == 0


def test_ctrl_c_while_a_command_is_imported_is_no_traceback(monkeypatch, capsys):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(__main__.importlib, "import_module", interrupt)
    assert __main__.main(["train"]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.faults
@pytest.mark.parametrize("seconds", [0.02, 0.1, 0.3, 1, 2, 4, 6, 8])
def test_ctrl_c_during_the_start_is_honoured_without_a_traceback(tmp_path, seconds):
    endless = ["--run.num-iterations", "1000000", "--run.save-every", "1000000"]
    process = commands.start(*tiny_run.train(tmp_path, *endless))
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=LIMIT_SECONDS)
    # Before the first line of azo runs, Python itself reports the interruption.
    killed = -signal.SIGINT
    expected = (killed, 1) if "Traceback" in errors else (killed, 0, 130)
    assert process.returncode in expected, errors
    assert "/azo/" not in errors
    done = tiny_run.iterations(tmp_path / "run")
    assert latest(tmp_path) == (done[-1] if done else 0)


def test_an_interrupted_tournament_keeps_its_games_and_goes_on(tmp_path, monkeypatch, capsys):
    path = small_tournament.write(tmp_path, small_tournament.SMALL)
    append = journal.append
    count = []

    def append_then_stop(file, line):
        append(file, line)
        if file.name == "games.jsonl":
            count.append(line)
        if len(count) == 5:
            os.kill(os.getpid(), signal.SIGTERM)

    is_done = threading.Event()
    threading.Thread(target=is_done.wait).start()  # ends no process that the command has not begun
    with monkeypatch.context() as patch:
        patch.setattr("azo.storage.journal.append", append_then_stop)
        assert small_tournament.main(path, "--folder", tmp_path / "games") == 0
    is_done.set()
    assert "the same command resumes" in capsys.readouterr().out
    games = tmp_path / "games" / "games.jsonl"
    assert games.read_text().splitlines() == count
    assert small_tournament.main(path, "--folder", tmp_path / "games") == 0
    assert games.read_text().splitlines()[: len(count)] == count
    assert len(games.read_text().splitlines()) == 18
