"""Records of runs, and the leaderboard, with a tiny run and a ladder of its own."""

import pathlib
import re

import pytest
from support import tiny_run

from azo.cli import command_line, leaderboard
from azo.games import registry
from azo.lab import elo, ladder, records, strength_times, tournament_file
from azo.training import checkpoint, config, metrics, network_files, origin, shipped_files, trainer

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
        settings = network_files.with_origin(tiny_run.settings(), checkpoints)
        checkpoints.save(6, tiny_run.begin(1), settings)
    with metrics.MetricsWriter(folder) as writer:
        writer.write("start", 0, START)
        writer.write("iteration", 5, FIGURES | {"selfplay/evaluations": 1})
        writer.write("start", 5, START | {"start/commit": "def5678"})
        writer.write("iteration", 6, FIGURES)
        writer.write("iteration", 7, FIGURES | {"selfplay/evaluations": 9999})
    return folder


def test_a_record_has_the_figures_of_the_latest_checkpoint(run):
    record = records.of_run(run, MATCHES, {})
    assert record.cost == COST
    assert record.commit == "abc1234, then def5678"
    assert record.hardware == "A CPU, 2 cores; 1 x cpu"
    assert record.from_rules_alone
    assert record.matches == {"100": {name: one.counts for name, one in RESULTS.items()}}
    rated = ladder.rate_network(RESULTS)
    assert record.elo["100"] == pytest.approx((rated.rating, *rated.interval), abs=0.06)


def test_records_make_tables_newest_first(run, tmp_path):
    path = tmp_path / "new" / "records.jsonl"
    assert records.page(records.read(path)).count("No record yet.") == 2
    time = records.StrengthTime(**dict(COST), bound="over ", matches={6: (4, 0, 6)})
    first = records.of_run(run, MATCHES, {})
    second = first.model_copy(update={"seed": 7, "elo": {"0.1 s": (812.4, 700.0, 990.0)}})
    third = records.of_run(run, {}, {"iagno-hard": time}).model_copy(update={"seed": 9})
    for record in (first, second, third):
        records.add(path, record)
    assert records.read(path) == [first, second, third]
    rated, timed = records.page(records.read(path)).split("## Minutes")
    head, _, newest, oldest = rated.strip().splitlines()[-4:]
    assert head.endswith(
        "| rules alone | hours | evaluations | Elo, 0.1 s a move | Elo, 100 simulations |"
    )
    assert newest.endswith("| yes | 1.00 | 2,000,000 | 812 (700 to 990) |  |")
    assert " | abc1234, then def5678 | A CPU, 2 cores; 1 x cpu | yes | 1.00 | " in oldest
    *_, head, _, row = timed.splitlines()
    assert head.endswith("| rules alone | iagno-hard |")
    assert row.endswith(" | A CPU, 2 cores; 1 x cpu | yes | over 60.0 / 30.0 / 2.00 M |")


def test_a_training_measured_again_keeps_its_other_ratings_and_times(run, tmp_path):
    path = tmp_path / "records.jsonl"
    other = records.of_run(run, MATCHES, {}).model_copy(update={"seed": 24})
    first = other.model_copy(update={"seed": 1, "elo": {"100": (1, 0, 2), "400": (3, 2, 4)}})
    times = {"iagno-hard": records.StrengthTime(**dict(COST), bound="", matches={})}
    new = {"elo": {"400": (5, 4, 6), "0.1 s": (7, 6, 8)}, "times": times}
    later = first.model_copy(update=new)
    for record in (first, other, later):
        records.add(path, record)
    kept, replaced = records.read(path)
    assert kept == other
    assert replaced.elo == {"100": (1, 0, 2), "400": (5, 4, 6), "0.1 s": (7, 6, 8)}
    assert replaced.times == times


def test_a_recipe_is_named_by_the_shipped_file_and_what_differs():
    path = shipped_files.CONFIGS / "champions" / "zero-fast.toml"
    settings = config.load_file(path)
    assert records.recipe(settings) == "azo8"  # of which zero-fast is a longer run
    longer = config.with_settings(settings, {"run.seed": 7, "run.max_processor_seconds": 60})
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
    "search": {"num_simulations": 2, "max_considered_actions": 2},
    "endings": {"adjudicate_empties": 0},
    "replay": {"capacity": 256},
}


@pytest.mark.slow
def test_a_tiny_run_is_trained_rated_measured_and_recorded(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(ladder, "RATINGS", {"random": 0.0, "greedy": 100.0})
    monkeypatch.setattr(ladder, "ANCHOR", "random")
    monkeypatch.setattr(ladder, "GAME", registry.GameConfig(size=4))
    opponents = [tournament_file.PlayerConfig(name=name, player=name) for name in ladder.RATINGS]
    monkeypatch.setattr(strength_times, "OPPONENTS", {one.name: one for one in opponents})
    monkeypatch.setattr(strength_times, "NUM_SIMULATIONS", 2)
    monkeypatch.chdir(tmp_path)
    limits = {"folder": "run", "num_iterations": 3, "save_every": 1, "keep_checkpoints": 5}
    trainer.train(tiny_run.settings(**OTHELLO_4X4, run=limits))
    page, records_file = pathlib.Path("page.md"), pathlib.Path("r.jsonl")

    def rate(*flags):
        places = ["--records", str(records_file), "--page", str(page), "--num-games", "4"]
        assert command_line.run_main(leaderboard.main, [*flags, *places]) == 0
        return capsys.readouterr().out

    rating = ["run", "--simulations", "2", "3", "--seconds", "0.01"]
    rate(*rating)
    assert re.search(r"^greedy: .*; iteration ", rate("run", "--time-to-strength"), re.MULTILINE)
    (record,) = records.read(records_file)
    assert list(record.matches) == list(record.elo) == ["2", "3", "0.01 s"]
    assert all(sum(won) == 4 for way in record.matches.values() for won in way.values())
    assert record.cost.iteration == 3
    assert record.commit == origin.commit()
    assert f"{record.cost.evaluations:,}" in page.read_text()
    games = {path: path.read_text() for path in pathlib.Path("run").glob("**/games.jsonl")}
    measured = [path for path in games if path.parts[1] == "strength"]
    assert list(record.times) == ["random", "greedy"]
    for name, time in record.times.items():
        steps = {path.parts[3] for path in measured if path.parts[2] == name}
        assert {str(step) for step in time.matches} == steps
        assert all(sum(counts) == 4 for counts in time.matches.values())
        assert str(time) in page.read_text()

    # The same commands play no game again.
    rate(*rating)
    rate("run", "--time-to-strength")
    assert games == {path: path.read_text() for path in pathlib.Path("run").glob("**/games.jsonl")}
    assert records.read(records_file) == [record]

    # An exported network is rated alone.
    network_files.save(tmp_path / "net", *network_files.load(tmp_path / "run"))
    shown = rate("net", "--simulations", "2", "--seconds")
    assert re.search("^2: Elo .*\nnet: learned from the rules alone", shown, re.MULTILINE)
    assert records.read(records_file) == [record]


def test_matches_are_named_as_on_the_ladder(monkeypatch, tmp_path):
    monkeypatch.setattr(ladder, "RATINGS", {"patterns:2": 0.0})
    drawn = elo.MatchResult(2, 0, 2, (0, 0, 2, 0, 0))

    def play(tournament, folder, title):
        assert [one.name for one in tournament.players] == ["network", "patterns-2"]
        return [elo.Pairing("network-5", "patterns-2", drawn)], []

    monkeypatch.setattr(ladder.tournament_runner, "run", play)
    played = ladder.by_simulations(tmp_path, tmp_path / "games", 5, 4)
    assert played == {"patterns:2": drawn}
