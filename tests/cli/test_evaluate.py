"""Matches through the entry point."""

import json
import re
import shutil

import numpy as np
import pytest

from azo.cli import command_line, evaluate
from azo.run import metrics


def main(*arguments):
    return command_line.run_main(evaluate.main, [str(argument) for argument in arguments])


def test_a_match_is_reported_from_the_first_players_side_and_repeats(capsys):
    flags = ["--game.name", "tictactoe", "--num-games", "200", "--opening-plies", "0"]
    assert main("greedy", "random", *flags) == 0
    one = capsys.readouterr().out
    assert main("greedy", "random", *flags, "--json") == 0
    data = json.loads(capsys.readouterr().out)
    match = re.fullmatch(
        r"greedy against random: (\d+)/(\d+)/(\d+) \(score 0\.\d{3}, 95 % .* to .*\)\n", one
    )
    wins, draws, losses = (int(count) for count in match.groups())
    assert wins + draws + losses == 200
    assert wins > losses
    assert data["players"] == ["greedy", "random"]
    assert (data["wins"], data["draws"], data["losses"]) == (wins, draws, losses)
    assert data["score"] == (wins + draws / 2) / 200
    low, high = data["interval"]
    assert low < data["score"] < high
    assert main("greedy", "random", *flags, "--seed", 1) == 0
    assert capsys.readouterr().out != one


@pytest.mark.parametrize(
    ("player", "simulations"),
    [("{}", 4), ("network:{}", 4), ("network:{}:3", 3), ("policy:{}", 0)],
)
def test_a_match_of_a_run_says_how_those_of_its_training_differed(
    net, tmp_path, capsys, player, simulations
):
    shutil.copytree(net, tmp_path / "run")
    with metrics.MetricsWriter(tmp_path / "run") as writer:
        for iteration, opponent, score in [
            (1, "random", 0.75),
            (2, "random", 0.5),
            (3, "greedy", 1),
        ]:
            fields = {"evaluation/opponent": opponent, "evaluation/score": score}
            writer.write("evaluation", iteration, fields)
    first = player.format(tmp_path / "run")
    flags = [first, "random", "--num-games", 2, "--opening-plies", 2]
    assert main(*flags) == 0
    _, note = capsys.readouterr().out.splitlines()
    assert note == (
        "Matches of its training against random: 2, best score 0.750, with 2 simulations a move"
        f" (here {simulations}) and other openings, of 4 random plies. The best of several scores"
        " is too high on average."
    )
    assert main(net, "random", *flags[2:]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_a_match_from_a_file_of_openings(tmp_path, capsys):
    path = tmp_path / "openings.txt"
    path.write_text("a2\nb1\nc4\nd3\n")  # one by symmetry
    flags = ["--game.size", 4, "--num-games", 4, "--openings", path, "--json"]
    assert main("alphabeta:12", "alphabeta:10", *flags) == 0
    data = json.loads(capsys.readouterr().out)
    # White wins the 4x4 board, and both players see the end.
    assert (data["wins"], data["losses"], data["pair_scores"]) == (2, 2, [0, 0, 2, 0, 0])
    assert main("greedy", "random", "--game.name", "tictactoe", "--openings", path) == 2
    assert "--openings needs Othello, not tictactoe" in capsys.readouterr().err
    assert main("greedy", "random", *flags[:-1], "--num-games", 12) == 2
    assert "4 different openings, but 6 are needed" in capsys.readouterr().err


def sequence(capsys, *arguments):
    """Returns the games after each batch, those of the result line, and the conclusion."""
    flags = ["--game.name", "tictactoe", "--opening-plies", 1, "--num-games", 50]
    assert main(*arguments, *flags) == 0
    *batches, result, conclusion = capsys.readouterr().out.splitlines()
    counts = [tuple(map(int, re.findall(r"(\d+)/(\d+)/(\d+) ", line)[0])) for line in batches]
    assert [line.split()[0] for line in batches] == [str(sum(count)) for count in counts]
    last = re.findall(r"^\w+ against \w+: (\d+)/(\d+)/(\d+) ", result)[0]
    assert tuple(map(int, last)) == counts[-1]
    return counts, conclusion


def test_a_better_player_is_found_out_in_batches_of_new_games(capsys):
    counts, conclusion = sequence(capsys, "greedy", "random", "--sprt.elo1", 30)
    assert 1 < len(counts) < 20
    one, two = counts[0], tuple(np.subtract(counts[1], counts[0]))
    assert sum(one) == sum(two) == 50
    assert one != two
    wins, draws, losses = counts[-1]
    assert wins > losses
    share = (wins + draws / 2) / sum(counts[-1])
    assert conclusion.startswith(
        "greedy is better than random, by more than 0 Elo (error rate 0.05), after"
        f" {sum(counts[-1])} games: difference {400 * np.log10(share / (1 - share)):+.0f} Elo, 95 %"
    )


def test_an_equal_player_is_not_found_better(capsys):
    flags = ["--sprt.elo1", 40, "--sprt.alpha", 1e-4]  # hardly ever wrong
    counts, conclusion = sequence(capsys, "random", "random", *flags)
    assert conclusion.startswith("random is not better than random, by as much as 40 Elo")
    assert sum(counts[-1]) > 100


def test_a_test_gives_up_after_so_many_games(capsys):
    flags = ["--sprt.elo0", -1, "--sprt.elo1", 1, "--sprt.max-games", 149]
    counts, conclusion = sequence(capsys, "random", "random", *flags)
    assert [sum(count) for count in counts] == [50, 100]
    assert conclusion.startswith("undecided whether random is better than random after 100 games")


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
        (["random", "random", "--sprt.alpha", "0.1"], "a test with --sprt.* needs --sprt.elo1"),
        (["random", "random", "--sprt.elo1", "-1"], "elo0 0 is not below elo1 -1"),
        (["random", "random", "--sprt.elo1", "1", "--sprt.beta", "2"], "beta 2 must be between"),
        (
            ["random", "random", "--sprt.elo1", "1", "--sprt.max-games", "9"],
            "--sprt.max-games 9 is less than a batch, --num-games 128",
        ),
        (
            ["random", "--exact", "line", "--sprt.elo1", "1"],
            "--exact plays no games, but --sprt.* is a test on games: remove one",
        ),
        ([], "PLAYER is missing: The player"),
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
