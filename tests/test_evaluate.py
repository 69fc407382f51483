"""Matches by way of the entry point."""

import re

import jax
import pytest
import tiny_run

from azo import checkpoint, config, evaluate
from azo.games import othello
from azo.learning import network


def main(*arguments):
    return config.run_main(evaluate.main, [str(argument) for argument in arguments])


def export(folder, rules, **sections):
    settings = tiny_run.settings(**sections)
    variables = network.init(rules, settings.network, jax.random.key(0))
    checkpoint.save_params(folder, variables, settings)
    return folder


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    return export(tmp_path_factory.mktemp("networks") / "net", tiny_run.game())


@pytest.fixture(scope="module")
def othello_net(tmp_path_factory):
    folder = tmp_path_factory.mktemp("networks") / "othello"
    sections = {"game": {"name": "othello", "size": 4}, "replay": {"capacity": 4096}}
    return export(folder, othello.Othello(4), **sections)


def test_a_match_is_told_from_the_first_players_side_and_repeats(capsys):
    flags = ["--game.name", "tictactoe", "--num-games", "200", "--opening-plies", "0"]
    assert main("greedy", "random", *flags) == 0
    one = capsys.readouterr().out
    assert main("greedy", "random", *flags) == 0
    assert capsys.readouterr().out == one
    found = re.fullmatch(
        r"greedy against random: (\d+)/(\d+)/(\d+) \(score 0\.\d{3}, 95 % .* to .*\)\n", one
    )
    wins, draws, losses = (int(count) for count in found.groups())
    assert wins + draws + losses == 200
    assert wins > losses
    assert main("greedy", "random", *flags, "--seed", 1) == 0
    assert capsys.readouterr().out != one


def test_the_game_is_that_of_the_network_on_either_side(net, capsys):
    for players in (["policy:{}", "random"], ["random", "policy:{}"]):
        named = [player.format(net) for player in players]
        assert main(*named, "--num-games", 2, "--opening-plies", 2) == 0
        assert capsys.readouterr().out.startswith(f"{named[0]} against {named[1]}: ")


def test_networks_for_different_games_cannot_meet(net, othello_net, capsys):
    assert main(net, othello_net) == 2
    message = f"{othello_net}: a network for othello4, not for tictactoe\n"
    assert capsys.readouterr().err == message


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["rolouts:9", "random"], "unknown player 'rolouts:9': there is no checkpoint at"),
        (["random", "rollouts:0"], "player 'rollouts:0': the number of simulations is '0'"),
        (["random", "random", "--num-games", "3"], "num_games is 3, but openings are played in"),
        (["random", "random", "--opening-plies", "99"], "opening_plies is 99: random openings"),
        (["random", "random", "--games", "3"], "--games"),
        ([], "(required)"),
    ],
)
def test_wrong_input_is_one_line_and_code_2(capsys, arguments, expected):
    assert main(*arguments) == 2
    message = capsys.readouterr().err
    assert expected.lower() in message.lower()
    assert message.count("\n") == 1


def test_flags_may_name_the_game_of_the_network(net, capsys):
    flags = ["--game.name", "tictactoe", "--num-games", 2, "--opening-plies", 2]
    assert main("random", f"policy:{net}", *flags) == 0
    assert capsys.readouterr().out.startswith(f"random against policy:{net}: ")


def test_flags_that_ask_for_another_game_than_the_networks_are_refused(net, othello_net, capsys):
    # Also by a value that is the default.
    assert main("random", othello_net, "--game.size=6") == 2
    assert capsys.readouterr().err == (
        f"--game.* asks for size 6, but {othello_net} was trained with size 4: leave --game.* out\n"
    )
    assert main(f"network:{net}:3", "random", "--game.is-reversed") == 2
    assert capsys.readouterr().err == (
        f"--game.* asks for name othello, is_reversed True, but network:{net}:3 was trained with"
        " name tictactoe, is_reversed False: leave --game.* out\n"
    )


def test_a_folder_that_holds_no_network_is_refused(tmp_path, capsys):
    assert main(tmp_path, "random") == 2
    message = f"{tmp_path}: neither a run nor an exported network: no checkpoints/\n"
    assert capsys.readouterr().err == message
