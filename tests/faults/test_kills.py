"""SIGKILL at random moments, many during saves: the same command goes on, and nothing is lost."""

import json
import random
import signal
import time

import pytest
from support.builders import small_tournament, tiny_run
from support.drivers import commands

NUM_ITERATIONS = 50
LIMIT_SECONDS = 1000


def finish(words, progress=None, num_kills=0, after_kill=lambda: None):
    """Runs a command to its end, and kills it before, each time at random after a next progress.

    `progress` returns a number.
    """
    rng, kills = random.Random(0), 0
    while True:
        process, deadline = commands.start(*words), time.monotonic() + LIMIT_SECONDS
        if kills < num_kills:
            before = progress()
            while progress() <= before and process.poll() is None:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            time.sleep(rng.random() / 2)
            process.kill()
        errors = process.communicate(timeout=LIMIT_SECONDS)[1]
        assert "Traceback" not in errors
        if process.returncode == 0:
            print(f"{kills} kills")
            return
        assert kills < num_kills, errors
        assert process.returncode == -signal.SIGKILL, errors
        kills += 1
        after_kill()


@pytest.mark.faults
def test_a_run_that_is_killed_again_and_again_ends_as_if_it_had_not_been(tmp_path):
    """Every iteration is saved, so most kills come during a save."""
    ends = ("--run.num-iterations", NUM_ITERATIONS, "--run.save-every")
    finish(tiny_run.train(tmp_path, *ends, NUM_ITERATIONS, name="whole"))
    folder, partial = tmp_path / "killed", []

    def look():
        partial.extend((folder / "checkpoints").glob(".*"))

    words = tiny_run.train(tmp_path, *ends, 1, name="killed")
    finish(words, lambda: len(tiny_run.iterations(folder)), 20, look)
    print(f"{len(partial)} files of unfinished saves")
    tiny_run.assert_same_bits(tiny_run.restored(folder), tiny_run.restored(tmp_path / "whole"))
    assert tiny_run.iterations(folder) == [*range(1, NUM_ITERATIONS + 1)]


@pytest.mark.faults
def test_a_tournament_that_is_killed_again_and_again_plays_every_game_once(tmp_path):
    text = small_tournament.SMALL.replace("num_games = 6", "num_games = 200")
    path = small_tournament.write(tmp_path, text.replace("plies = 3", "plies = 6"))
    games = tmp_path / "games" / "games.jsonl"

    def progress():
        return games.read_bytes().count(b"\n") if games.exists() else 0

    finish(["tournament", path, "--folder", games.parent], progress, 10)
    played = [json.loads(line) for line in games.read_text().splitlines()]
    assert len({(game["opening"], game["black"], game["white"]) for game in played}) == 600
    assert len(played) == 600
