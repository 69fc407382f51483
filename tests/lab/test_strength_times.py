"""Time to strength: bisection with made scores, and a tiny run with opponents of its own."""

import shutil
import types

import pytest
from support import commands, tiny_run

from azo.games import registry
from azo.lab import elo, ladder, strength_times, tournament_file
from azo.training import checkpoint, metrics, network_files

STEPS = (10, 20, 30, 40)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The folder of a run with a checkpoint and metrics for each of `STEPS`."""
    folder = tmp_path_factory.mktemp("saved") / "run"
    with (
        checkpoint.Checkpoints(folder, keep=10) as checkpoints,
        metrics.MetricsWriter(folder) as writer,
    ):
        settings, state = (
            network_files.with_origin(tiny_run.settings(), checkpoints),
            tiny_run.begin(1),
        )
        for step in STEPS:
            seconds = {"time/processor_seconds": 60.0 * step, "time/training_seconds": 30.0 * step}
            writer.write("iteration", step, seconds | {"selfplay/evaluations": 100_000 * step})
            checkpoints.save(step, state, settings)
    return folder


@pytest.fixture
def run(saved, tmp_path):
    """A copy of it."""
    return shutil.copytree(saved, tmp_path / "run")


@pytest.fixture
def played(monkeypatch):
    """Replaces the games: a checkpoint scores 1 % an iteration. Returns the matches by folder."""
    matches = {}

    def play(player, opponents, folder, num_games, *, games_at_once):
        assert folder not in matches or matches[folder].num_games == 20
        assert (player.name, player.simulations, games_at_once) == ("network", (3,), num_games)
        score = min(0.01 * played.strength * int(player.network.name), 1)
        wins = round(score * num_games)
        matches[folder] = elo.MatchResult(wins, 0, num_games - wins)
        played.opponents += opponents.values()
        return dict.fromkeys(opponents, matches[folder])

    played = types.SimpleNamespace(strength=1.0, opponents=[], matches=matches)
    monkeypatch.setattr(strength_times, "NUM_SIMULATIONS", 3)
    monkeypatch.setattr(ladder, "play", play)
    return played


def test_the_time_is_that_of_the_first_checkpoint_of_equal_strength(run, played):
    # 10 to 40 % never reach 50 %; with twice the points, 30 is the first.
    assert str(strength_times.measure(run, "iagno-hard", 100, 1)) == "over 40.0 / 20.0 / 4.00 M"
    assert list(played.matches) == [run / "strength" / "iagno-hard" / step for step in ("30", "40")]
    played.strength = 2.0
    time = strength_times.measure(run, "alphabeta-4", 100, 1)
    assert (time.iteration, time.processor_minutes, time.wall_minutes) == (30, 30.0, 15.0)
    assert str(time) == "30.0 / 15.0 / 3.00 M"
    assert time.matches == {20: (40, 0, 60), 30: (60, 0, 40)}
    played.strength = 5.0
    time = strength_times.measure(run, "patterns-6", 100, 1)
    assert str(time) == "at most 10.0 / 5.0 / 1.00 M"


def test_a_match_that_is_clear_after_the_first_games_ends(run, played, monkeypatch):
    played.strength = 2.5  # 0.25, 0.5, 0.75 and 1
    time = strength_times.measure(run, "iagno-hard", 100, 1)
    assert time.matches == {10: (25, 0, 75), 20: (50, 0, 50), 30: (75, 0, 25)}
    monkeypatch.setattr(strength_times, "CLEAR_SCORE", 0.75)
    time = strength_times.measure(run, "alphabeta-4", 100, 1)
    assert time.matches == {10: (5, 0, 15), 20: (50, 0, 50), 30: (15, 0, 5)}


def test_an_engine_has_the_processes_asked_for_and_may_be_absent(run, played, monkeypatch):
    monkeypatch.setattr(strength_times.external_engines, "is_installed", lambda _: True)
    strength_times.measure(run, "gtp-rhino-3", 100, 5)
    assert {one.num_processes for one in played.opponents} == {5}
    installed = []
    monkeypatch.setattr(strength_times.external_engines, "is_installed", installed.append)
    assert strength_times.measure(run, "gtp-rhino-2", 100, 1) is None
    assert [engine.level for engine in installed] == [2]


def test_a_checkpoint_without_metrics_is_refused_before_any_match(run, played):
    lines = (run / metrics.FILE).read_text().splitlines(keepends=True)
    (run / metrics.FILE).write_text("".join(lines[:-2] + lines[-1:]))
    with pytest.raises(ValueError, match="not have time/processor_seconds of checkpoint 30"):
        strength_times.measure(run, "iagno-hard", 100, 1)
    assert not played.matches


def test_the_opponents_are_players_of_a_tournament_with_the_names_of_the_table():
    for name, opponent in strength_times.OPPONENTS.items():
        players = (opponent, tournament_file.PlayerConfig(name="random", player="random"))
        tournament = tournament_file.TournamentConfig(players=players)
        made = tournament_file.make_players(tournament, registry.make(ladder.GAME))
        assert [one.name for one in made] == [name, "random"]


def test_the_time_to_strength_needs_a_run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    message = commands.refused(capsys, "leaderboard", "--time-to-strength")
    assert "--time-to-strength measures a run: give its folder" in message
    message = commands.refused(capsys, "leaderboard", "zero-fast", "--time-to-strength")
    assert "zero-fast: not the folder of a run with a checkpoint" in message
