"""SIGKILL at random moments, many during saves: the same command goes on, and nothing is lost."""

import json
import random
import signal
import time

import pytest
from support import child_runs, small_tournament, tiny_run

from azo.training import checkpoint, metrics

NUM_KILLS = {"train": 20, "tournament": 10}
NUM_ITERATIONS = 50
LIMIT_SECONDS = 1000


def kill(words, progress, seconds):
    """Starts a command and kills it `seconds` after its next progress; returns whether it was done.

    `progress` returns a number.
    """
    before = progress()
    process = child_runs.start(words)
    deadline = time.monotonic() + LIMIT_SECONDS
    while progress() <= before and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(seconds)
    process.kill()
    errors = process.communicate()[1]
    assert "Traceback" not in errors
    assert process.returncode in (0, -signal.SIGKILL), errors
    return process.returncode == 0


def finish(words):
    """Runs a command to its end."""
    process = child_runs.start(words)
    errors = process.communicate(timeout=LIMIT_SECONDS)[1]
    assert process.returncode == 0, errors
    assert "Traceback" not in errors


def state(folder):
    with checkpoint.Checkpoints(folder, keep=1) as checkpoints:
        return checkpoints.restore(tiny_run.begin(1))


@pytest.mark.faults
def test_a_run_that_is_killed_again_and_again_ends_as_if_it_had_not_been(tmp_path):
    """Every iteration is saved, so most kills come during a save."""
    ends = ("--run.num-iterations", NUM_ITERATIONS, "--run.save-every")
    finish(child_runs.command(tmp_path, *ends, NUM_ITERATIONS, name="whole"))
    folder = tmp_path / "killed"
    words = child_runs.command(tmp_path, *ends, 1, name="killed")
    seconds, kills, during_saves = random.Random(0), 0, 0
    for _ in range(NUM_KILLS["train"]):
        progress = lambda: len(metrics.read(folder, "iteration"))  # noqa: E731
        if kill(words, progress, seconds.random() / 2):
            break
        kills += 1
        names = [path.name for path in (folder / "checkpoints").iterdir()]
        during_saves += any(name.startswith(".") for name in names)
    print(f"{kills} kills, {during_saves} during saves")
    finish(words)
    tiny_run.assert_same_bits(state(folder), state(tmp_path / "whole"))
    done = [event["iteration"] for event in metrics.read(folder, "iteration")]
    assert done == [*range(1, NUM_ITERATIONS + 1)]


@pytest.mark.faults
def test_a_tournament_that_is_killed_again_and_again_plays_every_game_once(tmp_path):
    text = small_tournament.SMALL.replace("num_games = 6", "num_games = 200")
    path = small_tournament.write(tmp_path, text.replace("plies = 3", "plies = 6"))
    games = tmp_path / "games" / "games.jsonl"
    words = child_runs.azo("tournament", path, "--folder", games.parent)
    seconds, kills = random.Random(3), 0

    def progress():
        return games.read_bytes().count(b"\n") if games.exists() else 0

    for _ in range(NUM_KILLS["tournament"]):
        if kill(words, progress, seconds.random() / 2):
            break
        kills += 1
    print(f"{kills} kills")
    finish(words)
    played = [json.loads(line) for line in games.read_text().splitlines()]
    assert len({(game["opening"], game["black"], game["white"]) for game in played}) == 600
    assert len(played) == 600
