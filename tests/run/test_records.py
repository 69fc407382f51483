"""Records of runs, and the leaderboard, with a tiny run and a ladder of its own."""

import json
import pathlib

import pytest
from support import tiny_run

from azo.cli import command_line, leaderboard
from azo.games import registry
from azo.measure import elo, ladder
from azo.run import (
    checkpoint,
    config,
    ladder_matches,
    metrics,
    network_files,
    provenance,
    records,
    shipped_files,
    strength_times,
    trainer,
)

FIGURES = {
    "time/processor_seconds": 3600.0,
    "time/training_seconds": 1800.0,
    "selfplay/games": 1000,
    "selfplay/evaluations": 2_000_000,
}
START = {"start/commit": "abc1234", "start/processor": "A CPU, 2 cores", "start/devices": "1 x cpu"}
MATCHES = {
    "100": [
        elo.Pairing("network", "patterns:2", 8, 0, 2),
        elo.Pairing("network", "patterns:4", 5, 0, 5),
    ]
}


@pytest.fixture
def run(tmp_path):
    """The folder of a run with a checkpoint of iteration 6 and a later line of metrics."""
    folder = tmp_path / "run"
    with checkpoint.Checkpoints(folder, keep=1) as checkpoints:
        settings = network_files.with_origin(tiny_run.settings(), checkpoints)
        checkpoints.save(6, tiny_run.begin(1), settings)
    with metrics.MetricsWriter(folder) as writer:
        writer.write("start", 0, START)
        writer.write("iteration", 5, FIGURES | {"selfplay/games": 1})
        writer.write("start", 5, START | {"start/commit": "def5678"})
        writer.write("iteration", 6, FIGURES)
        writer.write("iteration", 7, FIGURES | {"selfplay/games": 9999})
    return folder


def test_a_record_has_the_figures_of_the_latest_checkpoint(run):
    record = records.of_run(run, MATCHES)
    assert (record.iterations, record.hours, record.training_hours) == (6, 1.0, 0.5)
    assert (record.games, record.evaluations) == (1000, 2_000_000)
    assert record.commit == "abc1234, then def5678"
    assert record.hardware == "A CPU, 2 cores; 1 x cpu"
    assert record.from_rules_alone
    assert record.matches == {"100": {"patterns:2": (8, 0, 2), "patterns:4": (5, 0, 5)}}
    rated = next(
        one
        for one in elo.rate(MATCHES["100"], known=ladder.RATINGS).standings
        if one.name == "network"
    )
    assert record.elo["100"] == pytest.approx((rated.rating, *rated.interval), abs=0.06)


def test_a_run_without_the_figures_of_its_checkpoint_gives_no_record(run):
    (run / metrics.FILE).write_text("")
    with pytest.raises(ValueError, match="do not have the processor time of checkpoint 6"):
        records.of_run(run, MATCHES)


def test_a_run_that_an_earlier_version_began_has_no_commit_of_its_beginning(run):
    lines = (run / metrics.FILE).read_text().splitlines(keepends=True)
    (run / metrics.FILE).write_text("".join(lines[1:]))
    record = records.of_run(run, MATCHES)
    assert record.commit == "not recorded, then def5678"
    assert record.hardware == "not recorded, then A CPU, 2 cores; 1 x cpu"


def test_records_make_a_table_newest_first(run, tmp_path):
    path = tmp_path / "records.jsonl"
    assert "No record yet." in records.page(records.read(path))
    first = records.of_run(run, MATCHES)
    second = first.model_copy(update={"hours": 24.0, "elo": {"0.1 s": (812.4, 700.0, 990.0)}})
    for record in (first, second):
        records.add(path, record)
    assert records.read(path) == [first, second]
    head, _, newest, oldest = records.page([first, second]).splitlines()[-4:]
    assert head.endswith("| rules alone | Elo, 100 simulations | Elo, 0.1 s a move |")
    assert newest.endswith("| 24.00 | 1,000 | 2,000,000 | yes |  | 812 (700 to 990) |")
    assert " | abc1234, then def5678 | A CPU, 2 cores; 1 x cpu | 1.00 | " in oldest


def test_a_training_rated_again_keeps_its_other_ratings(run, tmp_path):
    path = tmp_path / "new" / "records.jsonl"
    other = records.of_run(run, MATCHES).model_copy(update={"hours": 24.0})
    first = other.model_copy(update={"hours": 1.0, "elo": {"100": (1, 0, 2), "400": (3, 2, 4)}})
    later = first.model_copy(update={"elo": {"400": (5, 4, 6), "0.1 s": (7, 6, 8)}})
    for record in (first, other, later):
        records.add(path, record)
    kept, replaced = records.read(path)
    assert kept == other
    assert replaced.elo == {"100": (1, 0, 2), "400": (5, 4, 6), "0.1 s": (7, 6, 8)}


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


def test_the_commit_is_that_of_the_source():
    assert provenance.commit()
    assert "\n" not in provenance.commit() + provenance.processor()


def test_the_page_in_the_repository_is_that_of_the_records():
    docs = pathlib.Path(__file__).parents[2] / "docs"
    page = (docs / "leaderboard.md").read_text()
    times = strength_times.section(strength_times.read(docs / "strength_times.jsonl"))
    assert page == f"{records.page(records.read(docs / 'records.jsonl'))}\n{times}"


OTHELLO_4X4 = {
    "game": {"name": "othello", "size": 4},
    "search": {"num_simulations": 2, "max_considered_actions": 2},
    "endings": {"adjudicate_empties": 0},
    "replay": {"capacity": 256},
}


@pytest.mark.slow
def test_a_tiny_run_is_trained_rated_and_recorded(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(ladder, "RATINGS", {"random": 0.0, "greedy": 100.0})
    monkeypatch.setattr(ladder, "ANCHOR", "random")
    monkeypatch.setattr(ladder, "GAME", registry.GameConfig(size=4))
    folder = tmp_path / "run"
    limits = {"folder": str(folder), "num_iterations": 3}
    trainer.train(tiny_run.settings(**OTHELLO_4X4, run=limits))
    flags = [str(folder), "--num-games", "4", "--simulations", "2", "3", "--seconds", "0.01"]
    places = ["--records", str(tmp_path / "r.jsonl"), "--page", str(tmp_path / "page.md")]
    assert command_line.run_main(leaderboard.main, [*flags, *places]) == 0
    (record,) = records.read(tmp_path / "r.jsonl")
    assert list(record.matches) == list(record.elo) == ["2", "3", "0.01 s"]
    assert all(sum(won) == 4 for way in record.matches.values() for won in way.values())
    assert record.iterations == 3
    assert record.games > 0
    assert record.commit == provenance.commit()
    assert f"{record.games:,}" in (tmp_path / "page.md").read_text()
    games = (folder / "ladder" / "3" / "2" / "games.jsonl").read_bytes()

    # The same command plays no game again.
    assert command_line.run_main(leaderboard.main, [*flags, *places]) == 0
    assert (folder / "ladder" / "3" / "2" / "games.jsonl").read_bytes() == games
    assert records.read(tmp_path / "r.jsonl") == [record]

    # An exported network is rated alone.
    network_files.save(tmp_path / "net", *network_files.load(folder))
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    flags = ["net", "--num-games", "2", "--simulations", "2", "--seconds"]
    assert command_line.run_main(leaderboard.main, [*flags, *places]) == 0
    shown = capsys.readouterr().out
    assert "2: Elo " in shown
    assert "net: learned from the rules alone" in shown
    assert len(records.read(tmp_path / "r.jsonl")) == 1


def test_matches_are_named_as_on_the_ladder(monkeypatch, tmp_path):
    """Games of the two networks and of openings beyond the number wanted do not count."""
    monkeypatch.setattr(ladder, "RATINGS", {"patterns:2": 0.0})

    def play(tournament, folder, title):
        assert [one.name for one in tournament.players] == ["network", "patterns-2"]
        folder.mkdir()
        lines = [
            {"opening": number, "black": black, "white": white, "opening_plies": 0, "moves": "f5",
             "result": 1, "score": 2, "ended": "", "num_moves": [1, 0], "positions": [1, 0],
             "seconds": [0, 0]}
            for number in range(3)
            for black, white in (("network-5", "patterns-2"), ("patterns-2", "network-5"))
        ]  # fmt: skip
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / "games.jsonl").write_text(text)

    monkeypatch.setattr(ladder_matches.tournament_runner, "run", play)
    (pairing,) = ladder_matches.by_simulations(tmp_path, tmp_path / "games", 5, 4)
    assert pairing == elo.Pairing("network", "patterns:2", 2, 0, 2, (0, 0, 2, 0, 0))
