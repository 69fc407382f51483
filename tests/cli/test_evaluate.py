"""Matches through the entry point."""

import functools
import json
import re

from support.drivers import commands
from support.fakes import fake_engines

from azo.matches import tournament_file

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
