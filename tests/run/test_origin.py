"""What networks learned from, through whole chains of runs, as their settings record it."""

import json
import pathlib

import jax
import pytest
from support import tiny_run

from azo.learning import network
from azo.run import (
    checkpoint,
    config,
    network_files,
    origin,
    shipped_files,
    supervised_data,
    supervised_training,
    trainer,
)


def recorded(folder):
    """Returns the origin of the network in a folder, read from the disk."""
    return network_files.origin_of(network_files.load_settings(folder))


def kinds(folder):
    return [source.kind for source in recorded(folder)]


def begin_run(folder, *, claimed=None, **sections):
    """Saves the first checkpoint of a run as `trainer.train` does; returns its folder."""
    sections["run"] = sections.get("run", {}) | {"folder": str(folder)}
    settings = tiny_run.settings(**sections).model_copy(update={"origin": claimed})
    with checkpoint.Checkpoints(folder, keep=1) as checkpoints:
        settings = network_files.with_origin(settings, checkpoints)
        checkpoints.save(1, tiny_run.begin(1), settings)
    return folder


def supervise(folder, **changes):
    """Saves a network as `azo supervise` does; returns its folder."""
    tiny = tiny_run.settings()
    settings = supervised_data.SuperviseConfig(
        folder=folder, game=tiny.game, network=tiny.network, **changes
    )
    folder.mkdir()
    variables = network.init(tiny_run.game(), tiny.network, jax.random.key(0))
    supervised_training._save(settings, jax.device_get(variables))
    return folder / supervised_training.BEST


TAUGHT = [("teacher", "runs/5"), ("teacher", "runs/6"), ("teacher", "runs/7")]
CHAINS = {
    "zero-fast": [("network", "checkpoints/azo8-5"), *TAUGHT],
    "zero-conv": [
        ("network", "zero-conv of commit bdd4480"),
        ("network", "runs/conv/best"),
        ("network", "zero-conv of commit 7f741a6"),
        ("network", "checkpoints/zero-conv"),
        *TAUGHT,
        ("teacher", "runs/11"),
        ("network", "zero-fast"),
        ("network", "checkpoints/azo8-5"),
        ("teacher", "runs/11-first"),
        ("teacher", "runs/12-first"),
        *[("teacher", f"runs/{number}") for number in (11, 8, 9, 10)],
    ],
    "zero-conv6": [
        ("network", "runs/conv6/best"),
        ("teacher", "runs/own6"),
        ("network", "zero-fast6"),
        ("teacher", "runs/own6-20"),
        ("teacher", "runs/own6-21"),
    ],
    "taught": [
        ("network", "runs/people/best"),
        ("network", "zero-fast"),
        ("network", "checkpoints/azo8-5"),
        *TAUGHT,
        ("recorded games", "wthor, eothello_top100.csv.gz"),
        ("teacher", "runs/11"),
        ("network", "zero-fast"),
    ],
}


@pytest.mark.parametrize("name", shipped_files.networks())
def test_the_shipped_networks_but_taught_are_from_the_rules_alone(name):
    settings = network_files.load_settings(pathlib.Path(name))
    assert (settings.run.start_from, settings.selfplay.teacher) == (None, None)
    sources = network_files.origin_of(settings)
    assert [(source.kind, source.name) for source in sources] == CHAINS.get(name, [])
    assert origin.is_from_rules_alone(sources) == (name != "taught")


def test_a_run_from_a_run_from_games_of_people_is_not_from_the_rules_alone(tmp_path):
    learned = supervise(tmp_path / "people", files=[pathlib.Path("archive/games.csv.gz")])
    assert recorded(learned) == (origin.Source(kind="recorded games", name="games.csv.gz"),)
    first = begin_run(tmp_path / "first", run={"start_from": str(learned)})
    second = begin_run(tmp_path / "second", run={"start_from": str(first)})
    assert [(source.kind, source.name) for source in recorded(second)] == [
        ("network", str(first)),
        ("network", str(learned)),
        ("recorded games", "games.csv.gz"),
    ]
    for folder in (learned, first, second):
        assert not origin.is_from_rules_alone(recorded(folder))
    assert origin.describe(recorded(second)).startswith("learned from recorded games (network: ")


def test_a_taught_run_inherits_the_origin_of_its_teacher(tmp_path):
    learned = supervise(tmp_path / "people", files=[pathlib.Path("games.wtb")])
    taught = begin_run(tmp_path / "taught", selfplay={"teacher": str(learned)})
    assert kinds(taught) == ["teacher", "recorded games"]
    searched = supervise(tmp_path / "searched", source="search", player=taught, start=taught)
    chain = ["teacher", "recorded games"]
    assert kinds(searched) == ["network", *chain, "teacher", *chain]
    assert not origin.is_from_rules_alone(recorded(searched))


def test_a_chain_of_runs_that_learned_from_one_another_is_from_the_rules_alone(tmp_path):
    made = supervise(tmp_path / "random", source="random")
    assert recorded(made) == ()
    first = begin_run(tmp_path / "first", run={"start_from": str(made)})
    taught = begin_run(tmp_path / "taught", selfplay={"teacher": str(first)})
    assert kinds(taught) == ["teacher", "network"]
    assert origin.is_from_rules_alone(recorded(taught))
    assert origin.describe(()) == "learned from the rules alone"


def test_an_export_keeps_the_origin(tmp_path):
    learned = supervise(tmp_path / "people", files=[pathlib.Path("games.wtb")])
    first = begin_run(tmp_path / "first", run={"start_from": str(learned)})
    network_files.save(tmp_path / "exported", *network_files.load(first))
    assert recorded(tmp_path / "exported") == recorded(first)


def test_settings_cannot_claim_another_origin(tmp_path):
    learned = supervise(tmp_path / "people", files=[pathlib.Path("games.wtb")])
    run = begin_run(tmp_path / "run", claimed=(), run={"start_from": str(learned)})
    assert kinds(run) == ["network", "recorded games"]


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        ({}, ()),
        ({"run": {"start_from": "elsewhere"}}, ("elsewhere",)),
        ({"selfplay": {"teacher": "other"}}, ("other",)),
    ],
)
def test_settings_of_earlier_versions_say_what_they_show(sections, expected):
    tree = json.loads(config.to_json(tiny_run.settings(**sections)))
    del tree["origin"]
    settings = config.from_json(json.dumps(tree))
    sources = network_files.origin_of(settings)
    assert sources == tuple(origin.Source(kind="unknown", name=name) for name in expected)
    assert origin.is_from_rules_alone(sources) == (not expected)


def test_supervised_networks_of_earlier_versions_are_of_unknown_origin(tmp_path):
    learned = supervise(tmp_path / "people", files=[pathlib.Path("games.wtb")])
    settings = network_files.load_settings(learned).model_copy(update={"origin": None})
    assert [source.kind for source in network_files.origin_of(settings)] == ["unknown"]


@pytest.mark.slow
def test_a_run_records_its_origin_keeps_it_and_says_it(tmp_path, capsys):
    learned = supervise(tmp_path / "people", files=[pathlib.Path("games.wtb")])
    run = {"folder": str(tmp_path / "run"), "start_from": str(learned), "num_iterations": 1}
    trainer.train(tiny_run.settings(run=run))
    expected = ("network", "recorded games")
    assert tuple(kinds(tmp_path / "run")) == expected
    assert "learned from recorded games (network: " in capsys.readouterr().out
    # The folder that it began with may change; the record of the run does not.
    (tmp_path / "people").rename(tmp_path / "gone")
    supervise(tmp_path / "people", source="random")
    trainer.train(tiny_run.settings(run=run | {"num_iterations": 2}))
    assert tuple(kinds(tmp_path / "run")) == expected
