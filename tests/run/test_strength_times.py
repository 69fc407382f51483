"""Time to strength: bisection with made scores, and a tiny run with opponents of its own."""

import json
import math
import pathlib
import re
import shutil

import pytest
from support import damage, tiny_run

from azo.cli import command_line, leaderboard
from azo.games import registry
from azo.learning import placement
from azo.measure import arena, elo, ladder
from azo.run import (
    checkpoint,
    ladder_matches,
    metrics,
    network_files,
    strength_times,
    tournament_file,
)

START = {"start/commit": "abc1234", "start/processor": "A CPU", "start/devices": "1 x cpu"}
STEPS = (10, 20, 30, 40)


def save(folder, settings, states):
    """Writes a run with a checkpoint and metrics for each state, by iteration."""
    with (
        checkpoint.Checkpoints(folder, keep=10) as checkpoints,
        metrics.MetricsWriter(folder) as writer,
    ):
        writer.write("start", 0, START)
        for step, state in states.items():
            seconds = {"time/processor_seconds": 60.0 * step, "time/training_seconds": 30.0 * step}
            writer.write("iteration", step, seconds | {"selfplay/evaluations": 100_000 * step})
            checkpoints.save(step, state, settings)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The folder of a run with seed 7, and a checkpoint for each of `STEPS`."""
    folder = tmp_path_factory.mktemp("saved") / "run"
    states = dict.fromkeys(STEPS, tiny_run.begin(1)) | {20: tiny_run.trained()}
    save(folder, tiny_run.settings(run={"seed": 7}), states)
    return folder


@pytest.fixture
def run(saved, tmp_path):
    """A copy of it."""
    return shutil.copytree(saved, tmp_path / "run")


def pairing(tournament, names, score):
    """Returns a match in which a checkpoint scores so much for each iteration."""
    wins = round(score * int(tournament.players[0].network.name) * tournament.num_games)
    return elo.Pairing(*names, wins, 0, tournament.num_games - wins)


@pytest.fixture
def played(monkeypatch):
    """Replaces the games: a checkpoint scores 1 % an iteration. Returns the matches by folder."""
    tournaments = {}

    def play(tournament, folder, names):
        assert folder not in tournaments or tournaments[folder].num_games == 20
        tournaments[folder] = tournament
        return [pairing(tournament, names, 0.01)]

    monkeypatch.setattr(ladder_matches, "play", play)
    return tournaments


@pytest.mark.parametrize("num_steps", range(1, 10))
def test_bisection_finds_the_first_that_scores_half_and_plays_the_one_before(num_steps):
    steps = range(10, 10 + num_steps)
    for place in range(num_steps + 1):
        calls = []

        def play(step, place=place, calls=calls):
            calls.append(step)
            return arena.MatchResult(5, 0, 5) if step >= 10 + place else arena.MatchResult(4, 1, 5)

        first, results = strength_times.find_first(steps, play)
        assert first == (10 + place if place < num_steps else None)
        assert {9 + place, 10 + place} & set(steps) <= set(results)
        assert list(results) == sorted(calls)
        assert len(calls) <= math.floor(math.log2(num_steps)) + 1


def test_the_time_is_that_of_the_first_checkpoint_of_equal_strength(run, played, monkeypatch):
    monkeypatch.setattr(strength_times, "NUM_SIMULATIONS", 3)
    # 10 to 40 % never reach 50 %; with twice the points, 30 is the first.
    assert str(strength_times.measure(run, "iagno-hard", 100, 1)) == "over 40.0 / 20.0 / 4.00 M"
    names = [(one.players[0].name, one.players[0].simulations) for one in played.values()]
    assert set(names) == {("network", (3,))}
    assert list(played) == [run / "strength" / "iagno-hard" / step for step in ("30", "40")]
    drawn = {(one.seed, one.openings, one.num_games, one.game) for one in played.values()}
    assert drawn == {(0, tournament_file.OpeningsConfig(), 100, ladder.GAME)}

    def play_better(tournament, folder, names):
        return [pairing(tournament, names, 0.02)]

    monkeypatch.setattr(ladder_matches, "play", play_better)
    time = strength_times.measure(run, "alphabeta-4", 100, 1)
    assert (time.is_reached, time.iteration, time.iteration_before) == (True, 30, 20)
    assert (time.processor_minutes, time.wall_minutes) == (30.0, 15.0)
    assert time.evaluations == 3_000_000
    assert time.matches == {20: (40, 0, 60), 30: (60, 0, 40)}
    shown = strength_times.describe(time)
    assert shown.startswith("30.0 / 15.0 / 3.00 M; iteration 30: 60/0/40 (score 0.600")
    assert "; iteration 20: 40/0/60 (score 0.400" in shown
    at_first = time.model_copy(update={"iteration": 20})
    assert str(at_first).startswith("at most ")


def test_a_match_that_is_clear_after_the_first_games_ends(run, monkeypatch):
    def play(tournament, folder, names):
        return [pairing(tournament, names, 0.025)]  # 0.25, 0.5, 0.75 and 1

    monkeypatch.setattr(ladder_matches, "play", play)
    time = strength_times.measure(run, "iagno-hard", 100, 1)
    assert time.matches == {10: (25, 0, 75), 20: (50, 0, 50), 30: (75, 0, 25)}
    monkeypatch.setattr(strength_times, "CLEAR_SCORE", 0.75)
    time = strength_times.measure(run, "iagno-hard", 100, 1)
    assert time.matches == {10: (5, 0, 15), 20: (50, 0, 50), 30: (15, 0, 5)}
    assert strength_times.measure(run, "iagno-hard", 4, 1).matches[30] == (3, 0, 1)


def test_an_engine_has_the_processes_asked_for_and_may_be_absent(run, played, monkeypatch):
    monkeypatch.setattr(strength_times.external_engines, "is_installed", lambda _: True)
    strength_times.measure(run, "gtp-rhino-3", 100, 5)
    assert {one.players[1].num_processes for one in played.values()} == {5}
    installed = []
    monkeypatch.setattr(strength_times.external_engines, "is_installed", installed.append)
    assert strength_times.measure(run, "gtp-rhino-2", 100, 1) is None
    assert [engine.level for engine in installed] == [2]
    assert strength_times.describe(None) == "not installed"


def test_a_checkpoint_without_metrics_is_refused_before_any_match(run, played):
    lines = (run / metrics.FILE).read_text().splitlines(keepends=True)
    (run / metrics.FILE).write_text("".join(lines[:-2] + lines[-1:]))
    with pytest.raises(ValueError, match="not have the processor time of checkpoint 30"):
        strength_times.measure(run, "iagno-hard", 100, 1)
    assert not played


def test_rows_are_newest_first_and_a_training_has_one(run, played, tmp_path):
    path = tmp_path / "times.jsonl"
    assert "No record yet." in strength_times.section(strength_times.read(path))
    time = strength_times.measure(run, "iagno-hard", 100, 1)
    first = strength_times.of_run(run, 100, {"iagno-hard": None})
    assert (first.seed, first.commit, first.hardware) == (7, "abc1234", "A CPU; 1 x cpu")
    other = first.model_copy(update={"seed": 8})
    again = first.model_copy(update={"times": {"iagno-hard": time}})
    old = first.model_copy(update={"seed": 9, "times": {}})
    for record in (old, first, other, again):
        with path.open("a") as file:
            file.write(record.model_dump_json() + "\n")
    assert strength_times.read(path) == [old, other, again]
    head, _, *rows = strength_times.section([old, other, again]).splitlines()[-5:]
    assert head.endswith("| seed | commit | hardware | rules alone | games | iagno-hard |")
    assert rows[0].endswith(
        "| 7 | abc1234 | A CPU; 1 x cpu | yes | 100 | over 40.0 / 20.0 / 4.00 M |"
    )
    assert rows[1].endswith("| 8 | abc1234 | A CPU; 1 x cpu | yes | 100 | not installed |")
    assert rows[2].endswith("| 9 | abc1234 | A CPU; 1 x cpu | yes | 100 |  |")


def test_the_opponents_are_players_of_a_tournament_with_the_names_of_the_table():
    for name, opponent in strength_times.OPPONENTS.items():
        players = (opponent, tournament_file.PlayerConfig(name="random", player="random"))
        tournament = tournament_file.TournamentConfig(players=players)
        made = tournament_file.make_players(tournament, registry.make(ladder.GAME))
        assert [one.name for one in made] == [name, "random"]


def test_a_checkpoint_is_a_network(run):
    begun, _ = network_files.load(run)  # the latest
    trained, settings = network_files.load(run / "checkpoints" / "20")
    tiny_run.assert_same_bits(begun, tiny_run.begin(1).variables())
    tiny_run.assert_same_bits(trained, tiny_run.trained().variables())
    assert settings.run.seed == 7
    (file,) = (run / "checkpoints" / "20" / "network").glob("manifest.ocdbt")
    damage.truncate(file)
    with pytest.raises(ValueError, match=r"20: damaged: network/manifest.ocdbt"):
        network_files.load(run / "checkpoints" / "20")


def test_the_time_to_strength_needs_a_run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command_line.run_main(leaderboard.main, ["--time-to-strength"]) == 2
    assert "--time-to-strength measures a run: give its folder" in capsys.readouterr().err
    assert command_line.run_main(leaderboard.main, ["zero-fast", "--time-to-strength"]) == 2
    assert "zero-fast: not the folder of a run with a checkpoint" in capsys.readouterr().err


@pytest.mark.slow
def test_a_tiny_run_is_measured_and_no_game_is_played_twice(tmp_path, monkeypatch, capsys):
    opponents = {
        name: tournament_file.PlayerConfig(name=name, player=name) for name in ("random", "greedy")
    }
    monkeypatch.setattr(strength_times, "OPPONENTS", opponents)
    monkeypatch.setattr(strength_times, "NUM_SIMULATIONS", 2)
    monkeypatch.setattr(ladder, "GAME", registry.GameConfig(size=4))
    settings = tiny_run.settings(
        game={"name": "othello", "size": 4},
        search={"num_simulations": 2, "max_considered_actions": 2},
        endings={"adjudicate_empties": 0},
        replay={"capacity": 256},
    )
    game, mesh = registry.make(settings.game), placement.make_mesh(1)
    states = {seed: placement.begin(game, settings, mesh, seed=seed) for seed in (1, 2, 3)}
    monkeypatch.chdir(tmp_path)
    folder, times = pathlib.Path("run"), pathlib.Path("times.jsonl")
    save(folder, settings, states)
    flags = ["run", "--time-to-strength", "--num-games", "4", "--times", str(times)]
    flags += ["--records", "records.jsonl", "--page", "page.md"]
    assert command_line.run_main(leaderboard.main, flags) == 0
    assert re.search(r"^greedy: .*; iteration ", capsys.readouterr().out, re.MULTILINE)
    games = {path: path.read_text() for path in folder.glob("strength/*/*/games.jsonl")}
    assert {path.parts[2] for path in games} == {"random", "greedy"}
    starts = [
        {json.loads(line)["moves"][:16] for line in text.splitlines()} for text in games.values()
    ]
    assert all(one == starts[0] for one in starts)
    assert len(starts[0]) == 2

    # The same command plays no game again, and replaces the row.
    assert command_line.run_main(leaderboard.main, flags) == 0
    assert games == {path: path.read_text() for path in folder.glob("strength/*/*/games.jsonl")}
    assert len(times.read_text().splitlines()) == 2
    (record,) = strength_times.read(times)
    assert list(record.times) == ["random", "greedy"]
    for name, time in record.times.items():
        assert {str(step) for step in time.matches} == {
            path.parts[3] for path in games if path.parts[2] == name
        }
        assert all(sum(counts) == 4 for counts in time.matches.values())
        assert str(time) in pathlib.Path("page.md").read_text()
