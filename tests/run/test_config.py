"""Settings of a run: files, messages, phases and combinations."""

import json
import pathlib

import pytest

from azo.run import config, shipped_files
from azo.search import improvement


@pytest.fixture
def write(tmp_path):
    def write_file(text: str, name: str = "small.toml") -> pathlib.Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write_file


def message_of(path):
    with pytest.raises(ValueError) as caught:
        config.load_file(path)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_file_lists_only_what_differs_from_the_defaults(write):
    loaded = config.load_file(write("[search]\nnum_simulations = 7\n"))
    assert loaded.search == improvement.SearchConfig(num_simulations=7)
    assert loaded.learner == config.Config().learner


def test_the_folder_of_a_run_is_called_as_its_file_unless_set(write):
    named = config.load_file(write("", "olivaw.toml"))
    assert named.run.folder == pathlib.Path("runs/olivaw")
    chosen = config.load_file(write('[run]\nfolder = "elsewhere"\n'))
    assert chosen.run.folder == pathlib.Path("elsewhere")


def test_a_file_changes_the_settings_of_its_base(write):
    schedule = '[[generation.schedule]]\nstart = {}\nset = {{ "learner.num_steps" = 2 }}\n'
    write(
        "[search]\nnum_simulations = 7\nc_puct = 3.0\n" + schedule.format(1) + schedule.format(2),
        "grandparent.toml",
    )
    write('base = "grandparent.toml"\n[learner]\nnum_steps = 5\n', "parent.toml")
    own = 'base = "parent.toml"\n[search]\nnum_simulations = 9\n' + schedule.format(3)
    loaded = config.load_file(write(own))
    assert (loaded.search.num_simulations, loaded.search.c_puct) == (9, 3.0)
    assert loaded.learner.num_steps == 5
    assert [entry.start for entry in loaded.generation.schedule] == [3]
    assert loaded.run.folder == pathlib.Path("runs/small")


def test_a_base_may_be_the_name_of_a_shipped_file(write):
    champion = config.load_file(pathlib.Path("champions/zero-fast"))
    assert config.load_file(write('base = "champions/zero-fast"')).ratings == champion.ratings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("base = 3", "small.toml: base is 3, but should be the path of a settings file"),
        ('base = "azo9"', "small.toml: base: azo9: no such settings file. Did you mean 'azo'?"),
        ('base = "small.toml"', "small.toml: base leads back to this file"),
        ('base = "../configs"', "no such settings file"),
    ],
)
def test_a_wrong_base_is_named(write, text, expected):
    assert expected in message_of(write(text))


def test_settings_survive_json():
    loaded = small(search={"num_simulations": 3}, run={"num_devices": 2})
    assert config.from_json(config.to_json(loaded)) == loaded


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[search]\nnum_simulation = 3",
            " [search]: unknown setting 'num_simulation'. Did you mean 'num_simulations'?",
        ),
        ("[serach]\nx = 3", ": unknown section [serach]. Did you mean 'search'?"),
        ("zebra = 3", ": unknown setting 'zebra'. There are: search, network, selfplay,"),
        ("search = 3", ": search is 3, but should be a section: [search]"),
        ("distributed = 3", ": distributed is 3, but should be a valid boolean"),
        (
            "[search]\nnum_simulations = 0",
            " [search]: num_simulations is 0, but should be greater than 0",
        ),
        (
            '[search]\nnum_simulations = "many"',
            " [search]: num_simulations is 'many', but should be a valid integer",
        ),
        (
            '[game]\nname = "chess"',
            " [game]: name is 'chess', but should be 'othello' or 'tictactoe'",
        ),
        ("[search\n", ": not TOML: Expected ']' at the end of a table declaration (at line 1"),
        (
            '[game]\nname = "tictactoe"\nis_reversed = true',
            ": [game]: 'start' and 'is_reversed' apply only to Othello",
        ),
        (
            "[run]\nnum_devices = 3",
            ": selfplay.num_games is 128, but should be a multiple of 3, the number of"
            " devices: choose 129,",
        ),
        (
            "[replay]\ncapacity = 100",
            ": replay.capacity is 100, but one iteration of 128 games can add",
        ),
        (
            "[replay]\nmin_positions = 200000",
            ": replay.min_positions is 200000, more than the 100000 of replay.capacity",
        ),
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
    path = tmp_path / "frist.toml"
    assert message_of(path) == f"{path}: no such settings file. Did you mean 'first'?"


@pytest.mark.parametrize("name", ["tictactoe", "tictactoe.toml"])
def test_a_shipped_file_is_found_by_its_bare_name(name):
    loaded = config.load_file(pathlib.Path(name))
    assert loaded == config.load_file(shipped_files.CONFIGS / "tictactoe.toml")
    assert loaded.run.folder == pathlib.Path("runs/tictactoe")


def test_a_folder_instead_of_a_file_is_refused(tmp_path):
    assert "cannot be read: Is a directory" in message_of(tmp_path)


def small(**sections):
    """Settings of a small run, `sections` given as in a file."""
    return config.Config.model_validate({"game": {"name": "tictactoe"}} | sections)


SCHEDULE = [
    {"start": 2, "set": {"search.num_simulations": 64, "learner.learning_rate": 0.5}},
    {"start": 5, "set": {"search.num_simulations": 128}},
]


@pytest.mark.parametrize(
    ("generation", "num_simulations", "learning_rate"),
    [(0, 16, 0.25), (1, 16, 0.25), (2, 64, 0.5), (4, 64, 0.5), (5, 128, 0.5), (99, 128, 0.5)],
)
def test_a_schedule_adds_up_as_generations_go_on(generation, num_simulations, learning_rate):
    settings = small(
        generation={"schedule": SCHEDULE},
        search={"num_simulations": 16},
        learner={"learning_rate": 0.25},
    )
    actual = config.at_generation(settings, generation)
    assert actual.search.num_simulations == num_simulations
    assert actual.learner.learning_rate == learning_rate
    assert actual.selfplay == settings.selfplay


def message_of_validation(**sections):
    with pytest.raises(ValueError) as caught:
        small(**sections)
    return str(caught.value)


@pytest.mark.parametrize(
    "name", ["network.num_blocks", "selfplay.num_games", "gate.is_enabled", "run.seed"]
)
def test_what_shapes_a_run_cannot_change_by_a_schedule(name):
    entry = {"start": 1, "set": {name: 3}}
    message = message_of_validation(generation={"schedule": [entry]})
    assert f"generation.schedule: {name} cannot change during a run" in message


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


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        (
            {"gate": {"is_enabled": True}},
            "gate.is_enabled needs generations, but generation.num_games is 0: set",
        ),
        (
            {"generation": {"num_samples": 9}},
            "generation.num_samples is 9, but generation.num_games is 0",
        ),
        (
            {
                "generation": {"num_games": 9},
                "gate": {"is_enabled": True, "after_failure": "learn"},
            },
            "gate.after_failure is 'learn', but generation.num_samples is 0",
        ),
        (
            {
                "generation": {"num_games": 9},
                "gate": {"is_enabled": True},
                "selfplay": {"teacher": "x"},
            },
            "gate.is_enabled has no effect with selfplay.teacher, which plays all games",
        ),
        (
            {"selfplay": {"explored_share": 5}, "search": {"num_simulations": 4}},
            "selfplay.explored_share is 5, but should be at most 4, the simulations of",
        ),
        (
            # 128 games of 9 waiting plies and 16 new ones, and as many explored as new.
            {"selfplay": {"explored_share": 1.0}, "replay": {"capacity": 5247}},
            "one iteration of 128 games can add 5248 positions",
        ),
    ],
)
def test_settings_that_contradict_one_another_are_refused(sections, expected):
    assert expected in message_of_validation(**sections)


@pytest.mark.parametrize("wrong", [{"num_games": 3}, {"num_games": 0}, {"opening_plies": 1}])
def test_odd_numbers_of_games_and_opening_plies_are_refused(wrong):
    assert next(iter(wrong)) in message_of_validation(evaluation=wrong)


def test_settings_of_a_network_with_one_value_are_refused_by_one_line():
    tree = json.loads(config.to_json(config.Config()))
    tree["network"]["has_margin_head"] = False
    with pytest.raises(ValueError, match=r"^run/settings.json: a network of an earlier version"):
        config.from_json(json.dumps(tree), "run/settings.json")


def test_a_removed_setting_may_have_the_value_that_changed_nothing():
    tree = json.loads(config.to_json(config.Config()))
    tree["network"]["has_pooled_bias"] = False
    assert config.from_json(json.dumps(tree)) == config.Config()
    tree["network"]["has_pooled_bias"] = True
    with pytest.raises(ValueError, match="unknown setting 'has_pooled_bias'"):
        config.from_json(json.dumps(tree))
