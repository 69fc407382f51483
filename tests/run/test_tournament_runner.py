"""Tournaments by way of the entry point: games, interruptions, forfeits, tables and messages."""

import json
import pathlib
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from support import slow_board
from support.small_tournament import SMALL, main, write

from azo.measure.tournament import game_log
from azo.run import tournament_runner

FAKES = pathlib.Path(__file__).parents[1] / "support" / "engines"


def replayed(record, size):
    """Returns black's discs minus white's, the empties to the winner, by the slow rules."""
    board = slow_board.start(size)
    for action in record.actions:
        assert action in slow_board.legal_actions(board)
        board = slow_board.play(board, action)
    assert slow_board.is_over(board)
    discs = [square for row in board.rows for square in row]
    margin = discs.count("X") - discs.count("O")
    return margin + int(np.sign(margin)) * discs.count("-")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tournament")
    path = write(folder, SMALL)
    assert main(path, "--folder", folder / "games") == 0
    return folder


def test_every_pair_plays_every_opening_with_both_colours(small):
    games = game_log.read(small / "games" / tournament_runner.GAMES, 4)
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
        assert replayed(record, 4) == record.score
        assert np.sign(record.score) == record.result
        assert record.ended == ""


def test_moves_and_positions_are_counted_where_there_was_a_choice(small):
    for record in game_log.read(small / "games" / tournament_runner.GAMES, 4):
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
    games.write_text(before)


def test_the_table_counts_points_as_the_records_do(small, capsys, tmp_path):
    page = tmp_path / "page.md"
    assert main(small / "cup.toml", "--folder", small / "games", "--table", "--report", page) == 0
    shown = capsys.readouterr().out
    games = game_log.read(small / "games" / tournament_runner.GAMES, 4)
    for name in ("random", "greedy", "rollouts"):
        results = [r.result for r in games if r.black == name]
        results += [-r.result for r in games if r.white == name]
        counts = "/".join(str(results.count(result)) for result in (1, 0, -1))
        points = sum((1 + result) / 2 for result in results)
        row = rf"\| \d \| {name} \| -?\d+ \| [^|]*\| 12 \| {counts} \| {points:g} \|"
        assert re.search(row, shown), row
    text = page.read_text()
    assert shown.strip() in text
    assert f"`azo tournament {small / 'cup.toml'}" in text


def test_a_terminal_shows_tables_without_the_signs_of_markdown(small, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "50")
    assert main(small / "cup.toml", "--folder", small / "games", "--table") == 0
    lines = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    assert not [line for line in lines if line.startswith("|")]
    assert max(map(len, lines)) <= 50
    for name in ("random", "greedy", "rollouts"):
        assert any(re.match(rf"\d  {name} +-?\d+  ", line) for line in lines)


@pytest.mark.slow
def test_a_killed_tournament_loses_and_repeats_no_finished_game(tmp_path, capsys):
    slow = SMALL.replace("num_games = 6", "num_games = 12").replace(
        'player = "rollouts:4"', f'engine = "{tmp_path}/late.toml"'
    )
    slow = slow.replace("size = 4", "size = 6").replace("plies = 3", "plies = 12")
    fake = f'"{sys.executable}", "{FAKES / "fake_gtp.py"}", "late"'
    write(tmp_path, f'name = "late"\ncommand = [{fake}]\nprotocol = "gtp"\n', "late.toml")
    path, folder = write(tmp_path, slow), tmp_path / "games"
    games = folder / tournament_runner.GAMES
    command = [sys.executable, "-m", "azo", "tournament", str(path), "--folder", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (games.exists() and len(games.read_text().splitlines()) >= 4):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert main(path, "--folder", folder) == 2
    assert f"in use by process {process.pid} on " in capsys.readouterr().err
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = [line for line in games.read_text().splitlines(keepends=True) if line.endswith("\n")]
    assert 4 <= len(before) < 36
    games.write_text("".join(before) + '{"opening": 1, "bla')
    assert subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 0
    after = games.read_text().splitlines(keepends=True)
    assert after[: len(before)] == before
    schedule = [record.scheduled for record in game_log.read(games, 6)]
    assert len(schedule) == len(set(schedule)) == 36


@pytest.mark.slow
def test_a_failing_engine_loses_its_games_and_counts_as_forfeit(tmp_path, capsys):
    fake = f'"{sys.executable}", "{FAKES / "fake_gtp.py"}", "die"'
    write(tmp_path, f'name = "die"\ncommand = [{fake}]\nprotocol = "gtp"\n', "die.toml")
    text = SMALL.replace('player = "rollouts:4"', 'engine = "die.toml"').replace("= 4 }", "= 6 }")
    assert main(write(tmp_path, text), "--folder", tmp_path / "games") == 0
    games = game_log.read(tmp_path / "games" / tournament_runner.GAMES, 6)
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
        (("rollouts:4", "rollouts:x"), "player 'rollouts:x': the number of simulations is 'x'"),
        (('"rollouts"', '"random"'), "there are 2 players 'random': rename all but one"),
        (("num_games = 6", "num_games = 5"), "num_games is 5, but should be a multiple of 2"),
        (("num_games = 6", "num_gmaes = 6"), "unknown setting 'num_gmaes'"),
        (
            ('player = "greedy"', "level = 3"),
            "[players.1]: unknown setting 'level'. Did you mean",
        ),
        (('player = "greedy"', "levels = [3]"), "player 'greedy' has none of player, network"),
        (('player = "greedy"', 'network = "nowhere"'), "nowhere"),
        (('player = "greedy"', 'engine = "nowhere.toml"'), "nowhere.toml"),
        (
            ("plies = 3", 'source = "file"'),
            "openings.source is 'file', but openings.path is not set",
        ),
        (("num_games = 6", "num_games = 600"), "different openings of 3 random plies"),
    ],
)
def test_errors_in_the_file_are_reported_in_one_line(tmp_path, capsys, change, message):
    path = write(tmp_path, SMALL.replace(*change))
    assert main(path, "--folder", tmp_path / "games") == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "games" / tournament_runner.GAMES).exists()


def test_games_of_other_players_or_openings_are_not_mixed(small, tmp_path, capsys):
    folder = small / "games"
    stronger = write(tmp_path, SMALL.replace("rollouts:4", "rollouts:8"))
    assert main(stronger, "--folder", folder) == 2
    assert "player 'rollouts' is stored with another definition" in capsys.readouterr().err
    assert main(write(tmp_path, "seed = 1\n" + SMALL), "--folder", folder) == 2
    assert "opening 0 is not the one drawn now" in capsys.readouterr().err
    larger = SMALL.replace("size = 4", "size = 6")
    assert main(write(tmp_path, larger), "--folder", folder) == 2
    assert "game.size is 4, but this tournament has 6" in capsys.readouterr().err
    kept = json.loads((folder / "players.json").read_text())["players"]
    assert kept["rollouts"] == {"player": "rollouts:4"}


def test_openings_come_from_a_file_in_place_of_the_tournaments_own(tmp_path, capsys):
    openings = tmp_path / "openings.txt"
    openings.write_text("a2a1\na2c1\na2a3\n")
    path, folder = write(tmp_path, SMALL), tmp_path / "games"
    assert main(path, "--folder", folder, "--openings", openings) == 0
    lines = (folder / tournament_runner.GAMES).read_text().splitlines()
    played = [json.loads(line) for line in lines]
    assert len(played) == 18
    assert {game["moves"][:4] for game in played} == {"a2a1", "a2c1", "a2a3"}
    assert main(path, "--folder", folder, "--openings", tmp_path / "none.txt") == 2
    assert "none.txt" in capsys.readouterr().err


def test_no_such_file_and_an_empty_table(tmp_path, capsys):
    assert main(tmp_path / "none.toml") == 2
    expected = f"{tmp_path / 'none.toml'}: no such tournament file. "
    assert capsys.readouterr().err.startswith(expected)
    assert main(write(tmp_path, SMALL), "--folder", tmp_path / "games", "--table") == 2
    assert "no game has been played" in capsys.readouterr().err
