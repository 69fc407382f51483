"""Matches through the entry point."""

import functools
import json
import re

import numpy as np
from support import commands, fake_engines

from azo.lab import tournament_file

main = functools.partial(commands.run, "evaluate")


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


def test_a_match_from_a_file_of_openings(tmp_path, capsys):
    path = tmp_path / "openings.txt"
    path.write_text("a2\nb1\nc4\nd3\n")  # one by symmetry
    flags = ["--game.size", 4, "--num-games", 4, "--openings", path, "--json"]
    assert main("alphabeta:12", "alphabeta:10", *flags) == 0
    data = json.loads(capsys.readouterr().out)
    # White wins the 4x4 board, and both players see the end.
    assert (data["wins"], data["losses"], data["pair_scores"]) == (2, 2, [0, 0, 2, 0, 0])
    assert main("greedy", "random", "--game.name", "tictactoe", "--openings", path) == 2
    assert "openings from a file are for Othello, not for tictactoe" in capsys.readouterr().err


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


def test_a_test_gives_up_after_so_many_games(capsys):
    flags = ["--sprt.elo0", -1, "--sprt.elo1", 1, "--sprt.max-games", 149]
    counts, conclusion = sequence(capsys, "random", "random", *flags)
    assert [sum(count) for count in counts] == [50, 100]
    assert conclusion.startswith("undecided whether random is better than random after 100 games")
    message = "--sprt.max-games 9 is less than a batch, --num-games 128: choose smaller batches"
    words = ["random", "random", "--sprt.elo1", 1, "--sprt.max-games", 9]
    assert commands.refused(capsys, "evaluate", *words) == message


def test_players_and_flags_name_one_game(net, othello_net, tmp_path, capsys):
    message = f"{othello_net}: a network for othello4, not for tictactoe"
    assert commands.refused(capsys, "evaluate", net, othello_net) == message
    flags = ["--game.name", "tictactoe", "--num-games", 2, "--opening-plies", 2]
    assert main("random", f"policy:{net}", *flags) == 0
    assert capsys.readouterr().out.startswith(f"random against policy:{net}: ")
    # Also by a value that is the default.
    message = f"{othello_net} plays othello4: leave --game.* out"
    assert commands.refused(capsys, "evaluate", "random", othello_net, "--game.size=6") == message
    message = f"{tmp_path}: neither a run nor an exported network: no checkpoints/"
    assert commands.refused(capsys, "evaluate", tmp_path, "random") == message


def test_the_engine_plays_with_settings_of_its_own_on_either_side(capsys):
    flags = ["--num-games", "2", "--engine.c-puct", "2", "--against.solve-empties", "8"]
    assert main("engine:zero-fast6:2", "engine:zero-fast6:1", *flags) == 0
    assert capsys.readouterr().out.startswith("engine:zero-fast6:2 against engine:zero-fast6:1: ")


def test_a_shipped_engine_that_cannot_start_is_one_line(capsys, monkeypatch):
    engines = {"x:3": fake_engines.config("false")}
    monkeypatch.setattr(tournament_file, "shipped_engine", engines.get)
    assert main("greedy", "x:3", "--num-games", "2", "--game.size", "8") == 2
    assert capsys.readouterr().err.startswith("fake: ")
