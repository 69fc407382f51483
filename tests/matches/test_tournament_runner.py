"""Tournaments by way of the entry point: games, interruptions, forfeits, tables and messages."""

import json
import re
import sys

import numpy as np
import pytest
from support.builders.small_tournament import SMALL, main, write
from support.drivers import commands
from support.fakes.fake_engines import FAKES
from support.references import slow_board

from azo.games import notation
from azo.matches import tournament_runner
from azo.matches.tournament import game_log


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tournament")
    path = write(folder, SMALL)
    assert main(path, "--folder", folder / "games") == 0
    return folder


@pytest.mark.thorough
def test_every_pair_plays_every_opening_with_both_colours(small):
    games = game_log.repair(small / "games" / tournament_runner.GAMES, 4)
    names = ("random", "greedy", "rollouts")
    expected = {
        game_log.ScheduledGame(number, black, white)
        for number in range(3)
        for black in names
        for white in names
        if black != white
    }
    assert len(games) == len(expected) == 18
    assert {record.scheduled for record in games} == expected
    began = {record.opening: record.actions[:3] for record in games}
    assert len(set(began.values())) == 3
    for record in games:
        assert record.actions[:3] == began[record.opening]
        board = slow_board.after(record.actions, 4)
        assert slow_board.is_over(board)
        assert slow_board.black_score(board) == record.score
        assert np.sign(record.score) == record.result
        assert record.ended == ""
    transcripts = (small / "games" / tournament_runner.TRANSCRIPTS).read_text().splitlines()
    read = [notation.parse_moves(line, 4) for line in transcripts]
    assert sorted(read) == sorted([x for x in one.actions if x != 16] for one in games)


def test_moves_and_positions_are_counted_where_there_was_a_choice(small):
    for record in game_log.repair(small / "games" / tournament_runner.GAMES, 4):
        board, choices = slow_board.start(4), [0, 0]
        for ply, action in enumerate(record.actions):
            has_choice = len(slow_board.legal_actions(board)) > 1
            choices[ply % 2] += has_choice and ply >= 3
            board = slow_board.play(board, action)
        assert record.num_moves == tuple(choices)
        for side, name in enumerate((record.black, record.white)):
            searched = 4 * choices[side] if name == "rollouts" else 0
            assert record.positions[side] == searched


def test_a_finished_tournament_plays_nothing_more_and_more_games_are_added(small, capsys):
    games = small / "games" / tournament_runner.GAMES
    before = games.read_text()
    assert main(small / "cup.toml", "--folder", small / "games") == 0
    assert games.read_text() == before
    assert "games to play" not in capsys.readouterr().out
    assert main(small / "cup.toml", "--folder", small / "games", "--num-games", 8) == 0
    assert games.read_text().startswith(before)
    assert len(games.read_text().splitlines()) == 24
    capsys.readouterr()
    assert main(small / "cup.toml", "--folder", small / "games", "--table") == 0
    shown = capsys.readouterr().out  # of six games a pair: those of the fourth opening do not count
    assert re.search(r"\| greedy \| -?\d+ \| [^|]*\| 12 \|", shown)
    games.write_text(before)


def test_the_table_counts_points_as_the_records_do(small, capsys):
    assert main(small / "cup.toml", "--folder", small / "games", "--table") == 0
    shown = capsys.readouterr().out
    games = game_log.repair(small / "games" / tournament_runner.GAMES, 4)
    for name in ("random", "greedy", "rollouts"):
        results = [r.result for r in games if r.black == name]
        results += [-r.result for r in games if r.white == name]
        counts = "/".join(str(results.count(result)) for result in (1, 0, -1))
        points = sum((1 + result) / 2 for result in results)
        row = rf"\| \d \| {name} \| -?\d+ \| [^|]*\| 12 \| {counts} \| {points:g} \|"
        assert re.search(row, shown), row


@pytest.mark.slow
def test_a_failing_engine_loses_its_games_and_counts_as_forfeit(tmp_path, capsys):
    fake = f'"{sys.executable}", "{FAKES / "fake_gtp.py"}", "die"'
    write(tmp_path, f'name = "die"\ncommand = [{fake}]\nprotocol = "gtp"\n', "die.toml")
    text = SMALL.replace('player = "rollouts:4"', 'engine = "die.toml"').replace("= 4 }", "= 6 }")
    assert main(write(tmp_path, text), "--folder", tmp_path / "games") == 0
    games = game_log.repair(tmp_path / "games" / tournament_runner.GAMES, 6)
    lost = [record for record in games if record.ended]
    assert len(lost) == 12
    for record in lost:
        assert record.ended == "rollouts: died (exit code 3)"
        assert record.score is None
        assert record.result == (-1 if record.black == "rollouts" else 1)
    log = (tmp_path / "games" / tournament_runner.LOG).read_text()
    assert log.count("died (exit code 3)") == 12
    assert "genmove" in log
    shown = capsys.readouterr().out
    assert "rollouts - random, opening 0: rollouts: died (exit code 3)" in shown
    assert re.search(r"\| rollouts \|.*\| 0/0/12 \| 0 \|.*\| 12 \|\n", shown)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"rollouts"', '"random"'), "there are 2 players 'random': rename all but one"),
        (('player = "greedy"', "levels = [3]"), "player 'greedy' has none of player, network"),
    ],
)
def test_errors_in_the_file_are_reported_in_one_line(tmp_path, capsys, change, message):
    path = write(tmp_path, SMALL.replace(*change))
    words = ["tournament", path, "--folder", tmp_path / "games"]
    assert message in commands.refused(capsys, *words)
    assert not (tmp_path / "games" / tournament_runner.GAMES).exists()


def test_games_of_other_players_or_openings_are_not_mixed(small, tmp_path, capsys):
    folder = small / "games"
    before = (folder / tournament_runner.PLAYERS).read_text()
    for text, message in (
        (SMALL.replace("rollouts:4", "rollouts:8"), "player 'rollouts' is stored with another"),
        ("seed = 1\n" + SMALL, "opening 0 is not the one drawn now"),
        (SMALL.replace("size = 4", "size = 6"), "game is stored with another definition, {"),
    ):
        words = ["tournament", write(tmp_path, text), "--folder", folder]
        assert message in commands.refused(capsys, *words)
    assert (folder / tournament_runner.PLAYERS).read_text() == before
    assert '"definition":{"player":"rollouts:4"}' in before


def test_openings_come_from_a_file_in_place_of_the_tournaments_own(tmp_path, capsys):
    openings = tmp_path / "openings.txt"
    openings.write_text("a2a1\na2c1\na2a3\n")
    path, folder = write(tmp_path, SMALL), tmp_path / "games"
    assert main(path, "--folder", folder, "--table") == 2
    assert "no game has been played" in capsys.readouterr().err
    assert main(path, "--folder", folder, "--openings", openings) == 0
    lines = (folder / tournament_runner.GAMES).read_text().splitlines()
    assert len(lines) == 18
    assert {json.loads(line)["moves"][:4] for line in lines} == {"a2a1", "a2c1", "a2a3"}
    assert main(path, "--folder", folder, "--openings", tmp_path / "none.txt") == 2
    assert "none.txt" in capsys.readouterr().err
