"""Games from texts and files, and back; `test_archives` and `test_ggf` have more on the formats."""

import gzip
import pathlib

import pytest
from support.builders import wthor_files
from support.drivers.refusals import message_of

from azo.formats import game_files, ggf
from azo.games import notation, othello
from azo.games.host import live_game

_DATA = pathlib.Path(__file__).parents[1] / "data"
_GAME = othello.Othello()
_START = ggf.usual_start(_GAME)
_GGF = ggf.to_text(ggf.GgfGame(8, _START, (19, 34)))


def test_games_are_read_from_texts_files_and_numbers(tmp_path):
    expected = live_game.replay("f5d6c3", _GAME).actions
    text = ggf.to_text(ggf.GgfGame(8, _START, expected))
    assert game_files.parse("F5 d6\nC3\n", _GAME).moves == expected
    assert game_files.parse(text, _GAME).moves == expected
    assert game_files.parse(f"{text}\n{text}", _GAME, number=2).moves == expected
    assert game_files.parse("f5f6\n\nf5d6c3", _GAME, number=2).moves == expected
    paper = game_files.read(_DATA / "olivaw_game12.txt", _GAME)
    assert (paper.black, paper.white, len(paper.moves)) == ("Borassi", "OLIVAW 20", 61)
    (tmp_path / "windows.ggf").write_text(text, encoding="utf-8-sig")
    assert game_files.read(tmp_path / "windows.ggf", _GAME).moves == expected
    games = [ggf.GgfGame(8, _START, moves) for moves in ((19,), expected)]
    (tmp_path / "two.wtb").write_bytes(wthor_files.write(games)["wtb"])
    assert game_files.read(tmp_path / "two.wtb", _GAME, number=2).moves == expected


def test_a_game_from_another_start_keeps_it():
    board = notation.parse_board("-" * 26 + "XOX" + "-" * 35 + " O", 8)
    game = game_files.parse(
        f"(;GM[Othello]BO[8 {notation.board_text(board, 8)[:64]} O]W[B4];)", _GAME
    )
    assert (game.board, game.moves) == (board, (25,))
    assert message_of(game_files.to_text, game, _GAME, is_ggf=False) == (
        "the start position is unusual, and a transcript cannot store it: save as .ggf"
    )
    assert game_files.parse(game_files.to_text(game, _GAME, is_ggf=True), _GAME) == game


@pytest.mark.parametrize(
    ("text", "number", "message"),
    [
        ("", None, "no game in it"),
        ("hello", None, "cannot read 'hello' after 0 moves: squares are a1 to h8, a pass is 'pa'"),
        ("f5f6\nf5d6", None, "2 games in it: choose one by its number, from 1"),
        ("f5f6\nf5d6", 3, "no game 3: there are 1 to 2"),
        ("f5f5", None, "illegal move 'f5' at ply 2 (f5): white may play f4, d6 or f6"),
        ("(;GM[Othello]BO[4 ---- -O*- -*O- ---- *];)", None,
         "a game of othello4, but the network plays othello8"),
    ],
)  # fmt: skip
def test_texts_without_a_game_are_refused(text, number, message):
    assert message_of(game_files.parse, text, _GAME, number=number) == message


def test_all_games_of_files_of_every_kind_are_read_in_order(tmp_path):
    games = [ggf.GgfGame(8, _START, moves) for moves in ((19,), (37, 43, 18))]
    (tmp_path / "b.wtb").write_bytes(wthor_files.write(games)["wtb"])
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"d3c5\n"))
    (tmp_path / "a.csv").write_text("winner,game_moves\n1,f5d6\n")
    (tmp_path / "a.ggf").write_text(f"\ufeff{_GGF} {_GGF}", encoding="utf-8")
    (tmp_path / "a.txt").write_text("black: a\nwhite: b\nmoves: d3c5\n")
    names = ("a.txt.gz", "", "a.csv", "a.ggf", "a.txt")
    archive = game_files.read_archives([tmp_path / name for name in names])
    assert archive.num_plies.tolist() == [2, 1, 3, 2, 2, 2, 2]
    assert archive.action[:, 0].tolist() == [19, 19, 37, 37, 19, 19, 19]
    message = message_of(game_files.read_archives, [tmp_path / "a.csv"], othello.Othello(6))
    expected = "record 1: a game of othello8, but the network plays othello6"
    assert message == f"{tmp_path / 'a.csv'}: {expected}"


_OTHER = notation.Board(_START.white, _START.black, is_black_to_move=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_GGF + ggf.to_text(ggf.GgfGame(8, _OTHER, (20,))), "record 2: the start position is unus"),
        (_GGF.replace("W[C5]", "W[A1]"), "record 1: illegal move 'a1' at ply 2"),
        ("(;GM[Go];)", "GGF: the game is 'Go', not 'Othello'"),
    ],
)
def test_a_game_of_an_archive_that_cannot_be_used_is_named(tmp_path, text, message):
    path = tmp_path / "games.ggf"
    path.write_text(text, encoding="utf-8")
    assert message_of(game_files.read_archives, [path]).startswith(f"{path}: {message}")
