"""Tournament files: who meets whom, networks, engines, and messages."""

import os
import sys

import jax
import pytest
from support.builders import tiny_run
from support.builders.small_tournament import SMALL, main, write
from support.drivers import refusals
from support.fakes.fake_engines import FAKES

from azo.games import notation, othello
from azo.matches import tournament_file, tournament_runner
from azo.matches.tournament import game_log
from azo.networks import initial_variables, network_files
from azo.opponents import external_engines
from azo.settings import shipped_files


def test_formats_choose_who_meets_whom(tmp_path):
    names = list("abcd")

    def pairs(settings):
        loaded = tournament_file.load(write(tmp_path, settings + SMALL, "format.toml"))
        return [
            (f.black, f.white) for f in tournament_file.schedule(loaded, names) if f.opening == 0
        ]

    def both_colours(*chosen):
        return [(black, white) for a, b in chosen for black, white in ((a, b), (b, a))]

    assert pairs('format = "gauntlet"') == both_colours("ab", "ac", "ad")
    assert pairs('format = "ladder"') == both_colours("ab", "bc", "cd")
    assert pairs('format = "ladder"\nreach = 2') == both_colours("ab", "ac", "bc", "bd", "cd")


@pytest.mark.slow
def test_networks_are_entered_with_several_simulations_and_settings(tmp_path):
    settings = tiny_run.settings(
        game={"name": "othello", "size": 4},
        replay={"capacity": 4096},
        search={"puct": {"c_puct": 1.25, "root_noise_fraction": 0.5}},
    )
    game = othello.Othello(4)
    for seed in (0, 1):
        variables = initial_variables.init(game, settings.network, jax.random.key(seed))
        network_files.save(tmp_path / f"net{seed}", variables, settings)
    head, _, _ = SMALL.partition("[[players]]")
    text = head + '[[players]]\nname = "net"\nnetwork = "net0"\nsimulations = [2, 3]\n'
    text += '[[players]]\nname = "other"\nnetwork = "net1"\n'
    text += 'set = { puct.c_puct = 3.0, algorithm = "puct" }\n'
    loaded = tournament_file.load(write(tmp_path, text))
    everyone = {one.name: one for one in tournament_file.make_players(loaded, game)}
    assert list(everyone) == ["net-2", "net-3", "other"]
    assert everyone["net-2"].definition["search"]["num_simulations"] == 2
    assert everyone["net-2"].definition["search"]["puct"]["c_puct"] == 1.25
    assert everyone["other"].definition["search"]["puct"] == {
        **{"c_puct": 3.0, "root_noise_fraction": 0.5},
        **{"root_noise_alpha": None, "move_choice": "visits"},
    }
    assert everyone["net-2"].definition["network"] == everyone["net-3"].definition["network"]
    assert everyone["other"].definition["network"] != everyone["net-3"].definition["network"]

    assert main(tmp_path / "cup.toml", "--folder", tmp_path / "games", "--num-games", 2) == 0
    played = game_log.repair(tmp_path / "games" / tournament_runner.GAMES, 4)
    assert len(played) == 6
    for record in played:
        for side, name in enumerate((record.black, record.white)):
            if name.startswith("net-"):
                assert record.positions[side] == int(name[4:]) * record.num_moves[side]


HEAD = 'name = "x"\nprotocol = "gtp"\ncommand = ["x"]\n'


def test_a_program_runs_in_its_folder_which_is_relative_to_the_file(tmp_path):
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "engine"
    script.write_text(f'#!/bin/sh\npwd > where\nexec {sys.executable} {FAKES}/fake_gtp.py "$@"\n')
    script.chmod(0o755)
    path = tmp_path / "engine.toml"
    path.write_text('name = "x"\ncommand = ["./engine", "l{level}"]\nprotocol = "gtp"\n')
    path.write_text(path.read_text() + 'folder = "bin"\nlevel = 3\n')
    config = tournament_file.load_engine(path, level=5)
    assert (config.title, config.folder) == ("x 5", tmp_path / "bin")
    with external_engines.ExternalEngine(config, othello.Othello()) as engine:
        assert engine.choose([]).action == notation.parse_action("d3", 8)
    assert (tmp_path / "bin" / "where").read_text().strip() == os.path.realpath(tmp_path / "bin")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HEAD + "sendpasses = true\n", "unknown setting 'sendpasses'. Did you mean 'send_passes'?"),
        (HEAD + "level = 1\n", "level is 1, but command has no {level}: add it"),
        (HEAD.replace("gtp", "nboard"), "protocol 'nboard' needs a level, the depth of the search"),
        ("name", "not TOML: "),
    ],
)
def test_errors_in_a_file_are_reported_in_one_line(tmp_path, text, expected):
    path = tmp_path / "engine.toml"
    path.write_text(text)
    message = refusals.message_of(tournament_file.load_engine, path)
    assert message.startswith(f"{path}: {expected}")


@pytest.mark.parametrize(
    "path", sorted((shipped_files.CONFIGS / "engines").glob("*.toml")), ids=lambda path: path.stem
)
def test_the_files_in_configs_are_valid_and_take_a_level(path):
    assert tournament_file.load_engine(path, level=3).title == f"{path.stem} 3"
