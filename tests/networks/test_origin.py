"""What networks learned from, through whole chains of runs, as their settings record it."""

import pathlib

import jax
import pytest
from support.builders import tiny_run

from azo.networks import exported_network, initial_variables, network_files, origin
from azo.settings import shipped_files
from azo.training import checkpoint, first_network, supervised_data, supervised_training, trainer


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
        settings = first_network.with_origin(settings, checkpoints)
        checkpoints.save(1, tiny_run.begin(1), settings)
    return folder


def supervise(folder, **changes):
    """Saves a network as `azo supervise` does; returns its folder."""
    tiny = tiny_run.settings()
    settings = supervised_data.SuperviseConfig(
        folder=folder, game=tiny.game, network=tiny.network, **changes
    )
    folder.mkdir()
    variables = initial_variables.init(tiny_run.game(), tiny.network, jax.random.key(0))
    supervised_training._save(settings, jax.device_get(variables))
    return folder / supervised_training.BEST


@pytest.mark.parametrize("name", shipped_files.networks())
def test_the_shipped_networks_are_from_the_rules_alone(name):
    settings = network_files.load_settings(pathlib.Path(name))
    run = first_network.load_run(pathlib.Path(name))
    assert (run.run.start_from, run.selfplay.teacher) == (None, None)
    sources = network_files.origin_of(settings)
    assert name == "zero-fast6" or sources
    assert origin.is_from_rules_alone(sources)


def test_an_origin_has_all_that_a_network_and_those_before_it_learned_from(tmp_path):
    people = supervise(tmp_path / "people", files=[pathlib.Path("archive/games.csv.gz")])
    first = begin_run(tmp_path / "first", run={"start_from": str(people)})
    second = begin_run(tmp_path / "second", run={"start_from": str(first)})
    taught = begin_run(tmp_path / "taught", selfplay={"teacher": str(people)})
    searched = supervise(tmp_path / "searched", source="search", player=taught, start=taught)
    made = supervise(tmp_path / "random", source="random")
    own = begin_run(tmp_path / "own", run={"start_from": str(made)})
    pupil = begin_run(tmp_path / "pupil", selfplay={"teacher": str(own)})
    chain = ["teacher", "recorded games"]
    for folder, expected in {
        people: ["recorded games"],
        second: ["network", "network", "recorded games"],
        taught: chain,
        searched: ["network", *chain, "teacher", *chain],
        made: [],
        pupil: ["teacher", "network"],
    }.items():
        assert kinds(folder) == expected, folder
        from_rules = "recorded games" not in expected
        assert origin.is_from_rules_alone(recorded(folder)) == from_rules, folder
    assert [source.name for source in recorded(second)] == [str(first), str(people), "games.csv.gz"]
    assert origin.describe(recorded(second)).startswith("learned from recorded games (network: ")
    assert origin.describe(()) == "learned from the rules alone"
    foreign = (origin.Source(kind="teacher", name="a\x1b[2J"),)
    assert origin.describe(foreign) == "learned from the rules alone (teacher: a?[2J)"


def test_an_export_keeps_the_origin_and_settings_cannot_claim_another(tmp_path):
    learned = supervise(tmp_path / "people", files=[pathlib.Path("games.wtb")])
    first = begin_run(tmp_path / "first", claimed=(), run={"start_from": str(learned)})
    assert kinds(first) == ["network", "recorded games"]
    network_files.save(tmp_path / "exported", *network_files.load(first))
    assert recorded(tmp_path / "exported") == recorded(first)


def test_a_network_without_a_record_is_of_unknown_origin():
    settings = exported_network.NetworkSettings.from_run(tiny_run.settings(run={"folder": "mine"}))
    sources = network_files.origin_of(settings)
    assert [source.name for source in sources] == ["mine"]
    assert [source.kind for source in sources] == ["unknown"]
    assert not origin.is_from_rules_alone(sources)


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
