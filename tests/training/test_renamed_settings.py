"""Former names and defaults of settings: files load, a typed name is answered with the new one."""

import json
import pathlib

import pytest
from support.builders import tiny_run

from azo.cli import train
from azo.networks import network_files
from azo.search import settings as search_settings
from azo.settings import setting_types, typed_settings, validation
from azo.training import config

# As written by the version before the sections `search.gumbel` and `search.puct`.
FORMER = {
    "max_considered_actions": 5,
    "value_scale": 0.2,
    "c_puct": 3.5,
    "root_noise_fraction": 0.125,
    "root_noise_alpha": 0.75,
    "move_choice": "q",
}


def test_every_setting_of_an_algorithm_has_its_former_name():
    assert search_settings.SearchConfig.RENAMED.keys() == FORMER.keys()


def test_the_settings_of_a_former_run_are_read_and_resume_it():
    settings = tiny_run.settings()
    tree = json.loads(config.to_json(settings))
    del tree["search"]["gumbel"], tree["search"]["puct"]
    tree["search"] |= FORMER
    tree["generation"]["schedule"] = [{"start": 3, "set": {"search.c_puct": 1.5}}]
    tree["curriculum"] = [{"name": "one", "set": {"search.value_scale": 0.5}}]
    for is_resumed in (True, False):
        read = config.from_json(json.dumps(tree), is_resumed=is_resumed)
        assert read.search.gumbel.model_dump() | read.search.puct.model_dump() == FORMER
        phase = config.of_phase(read, 0)
        assert phase.search.gumbel.value_scale == 0.5
        assert config.scheduled(phase, 3, 0.0).search.puct.c_puct == 1.5
    assert config.from_json(config.to_json(read)) == read


def test_a_file_with_former_names_wins_over_its_base_whatever_names_that_has(tmp_path):
    texts = {
        "new": "[search.puct]\nc_puct = 2.5\n",
        "former": 'base = "new.toml"\n[search]\nc_puct = 3.5\nroot_noise_alpha = 0.5\n',
        "newest": 'base = "former.toml"\n[search.puct]\nc_puct = 4.5\n',
    }
    read = {}
    for name, text in texts.items():
        (tmp_path / f"{name}.toml").write_text(text)
        read[name] = config.load_file(tmp_path / f"{name}.toml").search.puct
    assert {name: puct.c_puct for name, puct in read.items()} == {
        "new": 2.5,
        "former": 3.5,
        "newest": 4.5,
    }
    assert read["newest"].root_noise_alpha == 0.5


@pytest.mark.parametrize("name", FORMER)
def test_a_typed_former_name_is_answered_with_the_new_one(name):
    new = validation.current_name(config.Config, f"search.{name}")
    section, setting = new.removeprefix("search.").split(".")
    assert setting == name
    flag = f"--search.{name}".replace("_", "-")
    with pytest.raises(ValueError, match=f"^{flag} is now called --search.{section}.") as refusal:
        train.load([flag, "1"])
    assert "\n" not in str(refusal.value)
    with pytest.raises(ValueError, match=rf"^\[search\]: {name} is now called {section}.{name}$"):
        train.run_training("tictactoe", {f"search.{name}": FORMER[name]}, folder="never")
    assert not pathlib.Path("never").exists()


# As of the versions whose defaults were those of no recipe.
FORMER_DEFAULTS = {
    "search.num_simulations": 32,
    "search.temperature_plies": 1000,
    "network.kind": "residual",
    "network.patterns.has_move_counts": False,
    "selfplay.num_games": 128,
    "selfplay.num_plies": 16,
    "targets.value": "outcome",
    "targets.trace_decay": 0.98,
    "replay.capacity": 100_000,
    "replay.min_positions": 2_000,
    "learner.schedule": "constant",
    "learner.warmup_steps": 100,
    "learner.batch_size": 512,
    "learner.num_steps": 16,
    "learner.score_weight": 0.25,
    "learner.augment": True,
    "game.size": 6,
    "evaluation.every": 10,
    "run.save_every": 10,
}


def test_a_setting_that_an_earlier_version_did_not_write_has_the_default_of_that_time():
    read, today = config.from_json("{}"), config.Config()
    changed = {
        name: typed_settings.value_of(read, name)
        for name, field in setting_types.fields_of(config.Config).items()
        if setting_types.section_of(field) is None
        and typed_settings.value_of(read, name) != typed_settings.value_of(today, name)
    }
    assert changed == FORMER_DEFAULTS


def test_a_network_of_an_earlier_version_keeps_its_shape_and_search():
    tree = json.loads(config.to_json(tiny_run.settings()))
    del tree["network"]["kind"], tree["network"]["patterns"], tree["search"]["num_simulations"]
    read = network_files.TrainedSettings.from_tree(tree, "settings.json")
    assert read.network.kind == "residual"
    assert not read.network.patterns.has_move_counts
    assert read.search.num_simulations == FORMER_DEFAULTS["search.num_simulations"]
    del tree["network"]
    with pytest.raises(ValueError, match=r"^settings.json: network is missing"):
        network_files.TrainedSettings.from_tree(tree, "settings.json")


def test_what_a_former_file_says_wins_over_former_defaults():
    settings = config.load_file(config.DEFAULT_CONFIG)
    assert config.from_json(config.to_json(settings)) == settings
