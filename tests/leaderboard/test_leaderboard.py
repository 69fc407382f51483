"""Records of runs, and the leaderboard, with a tiny run and a ladder of its own."""

import pathlib
import re

import pytest
from support.builders import tiny_run

from azo.cli import command_line
from azo.games import game_config
from azo.matches import elo, ladder, tournament_file
from azo.networks import network_files
from azo.process import machine
from azo.settings import shipped_files
from azo.training import checkpoint, config, first_network, metrics, trainer
from scripts.leaderboard import __main__ as leaderboard
from scripts.leaderboard import matches, records

FIGURES = {
    "time/processor_seconds": 3600.0,
    "time/training_seconds": 1800.0,
    "selfplay/evaluations": 2_000_000,
}
START = {"start/commit": "abc1234", "start/processor": "A CPU, 2 cores", "start/devices": "1 x cpu"}
RESULTS = {"patterns:2": elo.MatchResult(8, 0, 2), "patterns:4": elo.MatchResult(5, 0, 5)}
MATCHES = {"100": RESULTS}
COST = records.Cost(iteration=6, processor_minutes=60, wall_minutes=30, evaluations=2_000_000)


@pytest.fixture
def run(tmp_path):
    """The folder of a run with a checkpoint of iteration 6 and a later line of metrics."""
    folder = tmp_path / "run"
    with checkpoint.Checkpoints(folder, keep=1) as checkpoints:
        settings = first_network.with_origin(tiny_run.settings(), checkpoints)
        checkpoints.save(6, tiny_run.begin(1), settings)
    with metrics.MetricsWriter(folder) as writer:
        writer.write("start", 0, START)
        writer.write("iteration", 5, FIGURES | {"selfplay/evaluations": 1})
        writer.write("start", 5, START | {"start/commit": "def5678"})
        writer.write("iteration", 6, FIGURES)
        writer.write("iteration", 7, FIGURES | {"selfplay/evaluations": 9999})
    return folder


def test_a_record_has_the_figures_of_the_latest_checkpoint(run):
    record = records.of_run(run, MATCHES)
    assert record.cost == COST
    assert record.commit == "abc1234, then def5678"
    assert record.hardware == "A CPU, 2 cores; 1 x cpu"
    assert record.from_rules_alone
    assert record.matches == {"100": {name: one.counts for name, one in RESULTS.items()}}
    rated = ladder.rate_network(RESULTS)
    assert record.elo["100"] == pytest.approx((rated.rating, *rated.interval), abs=0.06)


def test_records_make_a_table_newest_first(run, tmp_path):
    path = tmp_path / "new" / "records.jsonl"
    assert records.page(records.read(path)).endswith("No record yet.\n")
    first = records.of_run(run, MATCHES)
    second = first.model_copy(update={"seed": 7, "elo": {"0.1 s": (812.4, 700.0, 990.0)}})
    for record in (first, second):
        records.add(path, record)
    assert records.read(path) == [first, second]
    head, _, newest, oldest = records.page(records.read(path)).strip().splitlines()[-4:]
    assert head.endswith(
        "| rules alone | hours | evaluations | Elo, 0.1 s per move | Elo, 100 simulations |"
    )
    assert newest.endswith("| yes | 1.00 | 2,000,000 | 812 (700 to 990) |  |")
    assert " | abc1234, then def5678 | A CPU, 2 cores; 1 x cpu | yes | 1.00 | " in oldest


def test_a_training_measured_again_keeps_its_other_ratings(run, tmp_path):
    path = tmp_path / "records.jsonl"
    other = records.of_run(run, MATCHES).model_copy(update={"seed": 24})
    first = other.model_copy(update={"seed": 1, "elo": {"100": (1, 0, 2), "400": (3, 2, 4)}})
    later = first.model_copy(update={"elo": {"400": (5, 4, 6), "0.1 s": (7, 6, 8)}})
    for record in (first, other, later):
        records.add(path, record)
    kept, replaced = records.read(path)
    assert kept == other
    assert replaced.elo == {"100": (1, 0, 2), "400": (5, 4, 6), "0.1 s": (7, 6, 8)}


def test_metrics_without_what_a_checkpoint_took_give_no_record(run):
    lines = (run / metrics.FILE).read_text().replace("time/training_seconds", "time/other")
    (run / metrics.FILE).write_text(lines)
    with pytest.raises(ValueError, match="do not have time/training_seconds of checkpoint 6"):
        records.of_run(run, MATCHES)


def test_a_recipe_is_named_by_the_shipped_file_and_what_differs():
    settings = config.load_file(shipped_files.CONFIGS / "azo8.toml")
    assert records.recipe(settings) == "azo8"
    longer = config.with_settings(settings, {"minutes": 60, "run.seed": 7})
    assert records.recipe(longer) == "azo8"
    other = config.with_settings(settings, {"learner.schedule": "cosine"})
    assert records.recipe(other) == 'azo8, learner.schedule "cosine"'
    begun = config.with_settings(settings, {"run.start_from": "runs/small"})
    assert records.recipe(begun) == "azo8, begun with the network small"
    assert records.recipe(tiny_run.settings(learner={"momentum": 0.5, "l2_weight": 0.1})) == (
        "own settings"
    )


def test_the_page_in_the_repository_is_that_of_the_records():
    docs = pathlib.Path(__file__).parents[2] / "docs"
    page = (docs / "notebook" / "leaderboard.md").read_text()
    assert page == records.page(records.read(docs / "records.jsonl"))


OTHELLO_4X4 = {
    "game": {"name": "othello", "size": 4},
    "search": {"num_simulations": 2, "gumbel": {"max_considered_actions": 2}},
    "endings": {"adjudicate_empties": 0},
    "replay": {"capacity": 256},
}


@pytest.mark.slow
def test_a_tiny_run_is_trained_rated_and_recorded(tmp_path, monkeypatch, capsys):
    # Players of the ladder that play on a board of 4x4 too.
    opponents = {
        name: tournament_file.PlayerConfig(name=name.replace(":", "-"), player="random")
        for name in ("patterns:2", "patterns:4")
    }
    monkeypatch.setattr(matches, "_opponents", lambda: opponents)
    monkeypatch.setattr(matches, "GAME", game_config.GameConfig(size=4))
    monkeypatch.chdir(tmp_path)
    limits = {"folder": "run", "num_iterations": 3, "save_every": 1}
    trainer.train(tiny_run.settings(**OTHELLO_4X4, run=limits))
    page, records_file = pathlib.Path("page.md"), pathlib.Path("r.jsonl")

    def rate(*flags):
        places = ["--records", str(records_file), "--page", str(page), "--num-games", "4"]
        assert command_line.run_main(leaderboard.main, [*flags, *places]) == 0
        return capsys.readouterr().out

    rating = ["run", "--simulations", "2", "3", "--seconds", "0.01"]
    rate(*rating)
    (record,) = records.read(records_file)
    assert list(record.matches) == list(record.elo) == ["2", "3", "0.01 s"]
    assert all(sum(won) == 4 for way in record.matches.values() for won in way.values())
    assert record.cost.iteration == 3
    assert record.commit == machine.commit()
    assert f"{record.cost.evaluations:,}" in page.read_text()

    # The same command plays no game again.
    games = {path: path.read_text() for path in pathlib.Path("run").glob("**/games.jsonl")}
    rate(*rating)
    assert games == {path: path.read_text() for path in pathlib.Path("run").glob("**/games.jsonl")}
    assert records.read(records_file) == [record]

    # An exported network is rated alone.
    network_files.save(tmp_path / "net", *network_files.load(tmp_path / "run"))
    shown = rate("net", "--simulations", "2", "--seconds")
    assert re.search("^2: Elo .*\nnet: learned from the rules alone", shown, re.MULTILINE)
    assert records.read(records_file) == [record]


def test_matches_are_named_as_on_the_ladder(monkeypatch, tmp_path):
    monkeypatch.setattr(ladder, "RATINGS", {8: {"patterns:2": 0.0, "random": -900.0}})
    drawn = elo.MatchResult(2, 0, 2, (0, 0, 2, 0, 0))

    def play(tournament, folder):
        assert [one.name for one in tournament.players] == ["network", "patterns-2"]
        return [elo.Pairing("network-5", "patterns-2", drawn)], []

    monkeypatch.setattr(matches.tournament_runner, "run", play)
    played = matches.by_simulations(tmp_path, tmp_path / "games", 5, 4)
    assert played == {"patterns:2": drawn}
