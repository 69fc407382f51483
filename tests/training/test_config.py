"""Settings of a run: files, messages, phases and combinations."""

import functools
import json
import pathlib
import re

import pytest
from support.drivers import refusals

from azo.training import config


@pytest.fixture
def write(tmp_path):
    def write_file(text: str, name: str = "small.toml") -> pathlib.Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write_file


message_of = functools.partial(refusals.message_of, config.load_file)


def test_the_folder_of_a_run_is_called_as_its_file_unless_set(write):
    named = config.load_file(write("", "olivaw.toml"))
    assert named.run.folder == pathlib.Path("runs/olivaw")
    chosen = config.load_file(write('[run]\nfolder = "elsewhere"\n'))
    assert chosen.run.folder == pathlib.Path("elsewhere")


def test_a_file_changes_the_settings_of_its_base(write):
    schedule = '[[generation.schedule]]\nstart = {}\nset = {{ "learner.num_steps" = 2 }}\n'
    write(
        "[search]\nnum_simulations = 7\npuct.c_puct = 3.0\n"
        + schedule.format(1)
        + schedule.format(2),
        "grandparent.toml",
    )
    write('base = "grandparent.toml"\n[learner]\nnum_steps = 5\n', "parent.toml")
    own = 'base = "parent.toml"\n[search]\nnum_simulations = 9\n' + schedule.format(3)
    loaded = config.load_file(write(own))
    assert (loaded.search.num_simulations, loaded.search.puct.c_puct) == (9, 3.0)
    assert loaded.learner.num_steps == 5
    assert [entry.start for entry in loaded.generation.schedule] == [3]
    assert loaded.run.folder == pathlib.Path("runs/small")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[search]\nnum_simulation = 3",
            " [search]: unknown setting 'num_simulation'. Did you mean 'num_simulations'?",
        ),
        ("[serach]\nx = 3", ": unknown section [serach]. Did you mean 'search'?"),
        ("search = 3", ": search is 3, but should be a section: [search]"),
        (
            "[search]\nnum_simulations = 0",
            " [search]: num_simulations is 0, but should be greater than 0",
        ),
        ("[search\n", ": not TOML: Expected ']' at the end of a table declaration (at line 1"),
        (
            "[replay]\nmin_positions = 900000",
            ": replay.min_positions is 900000, more than the 800000 of replay.capacity",
        ),
        ("base = 3", ": base is 3, but should be the path of a settings file"),
        ('base = "azo9"', ": base: azo9: no such settings file. Did you mean 'azo'?"),
        ('base = "small.toml"', ": base leads back to this file"),
        ('base = "../configs"', ": base: ../configs: no such settings file"),
    ],
)
def test_a_wrong_file_is_named_with_the_setting_the_value_and_what_would_work(
    write, text, expected
):
    path = write(text)
    assert message_of(path).startswith(f"{path}{expected}")


def test_a_missing_file_is_answered_with_those_beside_it(write, tmp_path):
    write("", "first.toml")
    write("", "second.toml")
    path = tmp_path / "c.toml"
    assert message_of(path) == f"{path}: no such settings file. There are: first, second"


def small(**sections):
    """Settings of a small run, `sections` given as in a file."""
    return config.Config.model_validate({"game": {"name": "tictactoe"}} | sections)


EARLY = {"search.num_simulations": 64, "learner.learning_rate": 0.5}
LATE = {"search.num_simulations": 128}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        (
            [{"start": 2, "set": EARLY}, {"start": 5, "set": LATE}],
            {(1, 0.5): (16, 0.25), (2, 0.5): (64, 0.5), (5, 0.5): (128, 0.5), (99, 1): (128, 0.5)},
        ),
        (
            [{"share": 0.25, "set": EARLY}, {"share": 0.75, "set": LATE}],
            {(9, 0.24): (16, 0.25), (9, 0.25): (64, 0.5), (9, 0.7): (64, 0.5), (0, 1): (128, 0.5)},
        ),
        (
            [{"share": 0.5, "start": 3, "set": EARLY}],
            {(9, 0.4): (16, 0.25), (2, 0.9): (16, 0.25), (3, 0.5): (64, 0.5)},
        ),
    ],
)
def test_a_schedule_adds_up_as_its_generations_and_shares_are_reached(entries, expected):
    settings = small(
        generation={"schedule": entries},
        search={"num_simulations": 16},
        learner={"learning_rate": 0.25},
    )
    for place, values in expected.items():
        actual = config.scheduled(settings, *place)
        assert (actual.search.num_simulations, actual.learner.learning_rate) == values
        assert actual.selfplay == settings.selfplay


def test_phases_change_settings_and_begin_with_the_phase_before_where_they_can():
    settings = small(
        run={"folder": "runs/x"},
        curriculum=[
            {"name": "a", "set": {"search.num_simulations": 8}},
            {"name": "b"},
            {"name": "c", "set": {"network.num_blocks": 7, "selfplay.teacher": "{b}"}},
            {"name": "d", "set": {"network.num_blocks": 7, "evaluation.opponent": "network:{a}:9"}},
            {"name": "e", "set": {"run.start_from": "{a}"}},
        ],
    )
    phases = [config.of_phase(settings, index) for index in range(5)]
    assert [str(one.run.folder) for one in phases] == [
        f"runs/x/{n}" for n in ("1-a", "2-b", "3-c", "4-d", "5-e")
    ]
    starts = [one.run.start_from and str(one.run.start_from) for one in phases]
    assert starts == [None, "runs/x/1-a", None, "runs/x/3-c", "runs/x/1-a"]
    assert phases[0].search.num_simulations == 8
    assert phases[1].search == settings.search
    assert phases[2].selfplay.teacher == "runs/x/2-b"
    assert phases[3].evaluation.opponent == "network:runs/x/1-a:9"
    assert not any(one.curriculum for one in phases)


GATE, GAMES = {"is_enabled": True}, {"num_games": 9}
FIXED = ("network.num_blocks", "selfplay.num_games", "gate.is_enabled", "run.seed")


def schedule(changes):
    return {"generation": {"schedule": [{"start": 1, "set": changes}]}}


def phases(**changes):
    return {"curriculum": [{"name": name, "set": value} for name, value in changes.items()]}


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        (
            {"gate": GATE},
            "gate.is_enabled needs generations, but generation.num_games is 0: set",
        ),
        (
            {"generation": {"num_samples": 9}},
            "generation.num_samples is 9, but generation.num_games is 0",
        ),
        (
            {"generation": GAMES, "gate": GATE, "selfplay": {"teacher": "x"}},
            "gate.is_enabled has no effect with selfplay.teacher, which plays all games",
        ),
        (
            {"selfplay": {"explored_share": 5}, "search": {"num_simulations": 4}},
            "selfplay.explored_share is 5, but should be at most 4, the simulations of",
        ),
        (
            {"replay": {"window_generations": 2, "window_iterations": 2}},
            "both set: set one of them to 0",
        ),
        (
            # 256 games of 9 waiting plies and 32 new ones, and as many explored as new.
            {"selfplay": {"explored_share": 1.0}, "replay": {"capacity": 18687}},
            "one iteration of 256 games can add 18688 positions",
        ),
        *((schedule({x: 3}), f"generation.schedule: {x} cannot change during a") for x in FIXED),
        ({"generation": {"schedule": [{"set": LATE}]}}, "share or start: give at least one of"),
        (
            phases(a={"search.num_simulation": 3}),
            "[search]: unknown setting 'num_simulation'. Did you mean 'num_simulations'?",
        ),
        (phases(a={"selfplay.teacher": "{b}"}, b={}), "phase a: '{b}' names no earlier phase"),
        (phases(a={}, b={"selfplay.teacher": "{a"}), "names no earlier phase: a"),
        (phases(**{"a b": {}}), "String should match pattern"),
    ],
)
def test_settings_that_contradict_one_another_are_refused(sections, expected):
    with pytest.raises(ValueError, match=re.escape(expected)):
        small(**sections)


def test_settings_of_other_versions_are_ignored_only_where_a_network_alone_is_read():
    tree = json.loads(config.to_json(config.Config()))
    tree["network"]["has_pooled_bias"] = tree["endings"]["solver"] = "of another version"
    text = json.dumps(tree)
    assert config.from_json(text, is_resumed=False) == config.Config()
    with pytest.raises(ValueError, match=r"^old \[network\]: unknown setting 'has_pooled_bias'"):
        config.from_json(text, "old")
