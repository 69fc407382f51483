"""Games in the dialects that Othello programs write.

The texts follow what the sources of these programs print: Edax 4.4 (`game_save_sgf`,
`game_export_pgn`), Cassio and OthelloTk (`save_game`) on GitHub; GGF is that of GGS, and OBF that
of Edax's problems.
"""

import pytest
from support.builders import wthor_files
from support.drivers import refusals

from azo.formats import game_files, game_texts, ggf
from azo.games import notation, othello, variant

_BOARD = "---------------------------OX------XO---------------------------"
_EDAX_SGF = (
    "(;FF[4]GM[2]AP[edax:4.4]\nPC[Edax]DT[2024-05-01]\nPB[ann]PW[Edax 4.4]\n"
    "SZ[8]AB[e4][d5]AW[d4][e5]PL[B]\nRE[B+2]\nB[f5];W[d6];\nB[c3];)\n"
)
_CASSIO_SGF = (
    "(;GM[2]FF[4]SZ[8]TM[1500]BL[1500]WL[1500]AP[Cassio:7.9]US[user]"
    "PB[Ann \\[7D\\]]PW[Bob]C[a (;B[a1\\])];B[F5];W[D6](;B[C3])(;B[C4];W[B3]))"
)
_EDAX_PGN = """[Event "?"]
[Site "edax"]
[Date "2024.5.1"]
[Black "ann \\"x\\""]
[White "Edax 4.4"]
[Result "1-0"]

 1. f5 d6 2. c3
{ann "x" wins 40-24} 1-0


"""


def _parse(text):
    return game_texts.parse(text, variant.Variant(8))


@pytest.mark.parametrize(
    ("text", "players"),
    [
        (_EDAX_SGF, ("ann", "Edax 4.4")),
        (_CASSIO_SGF, ("Ann [7D]", "Bob")),
        ("(;GM[2]FF[4]\nSZ[8]\nAP[OthelloTk:0.1]\nAB[e4][d5]\nAW[d4][e5]\nPL[B]\n"
         ";B[f5]\n;W[d6]\n;B[c3]\n)", ("", "")),
        ("(;GM[2]PB[ann];B[fe];W[df];B[cc])", ("ann", "")),
        (_EDAX_PGN, ('ann "x"', "Edax 4.4")),
        (f"1 (;GM[Othello]PC[GGS/os]PB[ann]PW[bob]TY[8]RE[+2.000]BO[8 {_BOARD} *]"
         "B[F5//1.2]W[d6/0.5/3]B[C3];)", ("ann", "bob")),
        ("Black: ann\nWhite: bob\nMoves: F5 D6 C3 33-31", ("ann", "bob")),
        ("f5-d6-c3", ("", "")),
        ("1. f5 d6\n2. c3 33-31", ("", "")),
        ("1 F5 2 D6 3 C3  1/2-1/2", ("", "")),
        ("http://127.0.0.1:8000/#f5d6c3", ("", "")),
        (f"https://azo.example/#othello8:{_BOARD}X:f5d6c3", ("", "")),
    ],
)  # fmt: skip
def test_the_dialects_of_programs_are_read(text, players):
    (game,) = _parse(text)
    assert notation.board_text(game.board, 8) == f"{_BOARD} X"
    assert notation.transcript(game.moves, 8) == "f5d6c3"
    assert ((game.black, game.white), game.note, game.unread) == (players, "", "")


def test_a_side_that_moves_twice_in_sgf_has_passed_between():
    (game,) = _parse("(;GM[2]SZ[4]AE[a1:d4]AB[a1]AW[b1][b2]PL[W];W[];B[c1];W[tt];B[c3];B[d4])")
    assert notation.board_text(game.board, 4) == "XO---O---------- O"
    assert [notation.action_text(action, 4) for action in game.moves] == [
        "pass", "c1", "pass", "c3", "pass", "d4",
    ]  # fmt: skip


def test_positions_of_obf_say_the_scores_of_the_file():
    text = f"{_BOARD} X; F5:+2; d3:-4; --:-127; % first\n{_BOARD.lower()} O;\n"
    first, second = _parse(text)
    assert notation.board_text(first.board, 8) == f"{_BOARD} X"
    assert (first.note, second.note) == ("the file says f5 +2, d3 -4", "")
    assert not second.board.is_black_to_move


def test_several_games_of_a_text_are_listed():
    pair = _EDAX_PGN + '[Black "x"]\n[White "y"]\n1. d3 c5 *\n'
    assert [game_texts.title(one) for one in _parse(pair)] == [
        'ann "x" - Edax 4.4, f5 d6 c3',
        "x - y, d3 c5",
    ]
    assert len(_parse(_CASSIO_SGF + _EDAX_SGF)) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(;FF[4]GM[1]SZ[19];B[pd])", "SGF: the game is Go (GM[1]), not Othello (GM[2])"),
        ("(;GM[2]SZ[10];B[f5])", "SGF: a 10x10 board; azo plays 4x4, 6x6 and 8x8"),
        ("(;GM[2];B[f9])", "SGF: unknown move 'f9': squares are a1 to h8, a pass is 'pass'"),
        ("(;GM[2]AB[tt];B[f5])", "SGF: AB[tt] is not a square"),
        ("(;#", "neither the name of a game (GM[...]) nor a move in it"),
        ('[FEN "x"]\nf5', "a game from a start position in FEN is not supported"),
        ('[Black "x"]\n', "no moves follow the headings"),
        ("https://example.org/#chess", "'https://example.org/#chess' is not a link to a game of"
         " azo web"),
    ],
)  # fmt: skip
def test_other_texts_are_refused_with_a_reason(text, message):
    assert refusals.message_of(_parse, text) == message


def test_a_wthor_game_has_the_names_of_the_file_beside_it(tmp_path):
    start = ggf.usual_start(variant.Variant())
    games = [ggf.GgfGame(8, start, (37, 43, 18), f"black {n}", "Żółć") for n in (1, 2)]
    for kind, content in wthor_files.write(games).items():
        (tmp_path / f"WTH.{kind}").write_bytes(content)
    game = game_files.read(tmp_path / "WTH.wtb", othello.Othello(), number=2)
    assert (game.black, game.white, game.moves) == ("black 2", "?ó??", (37, 43, 18))
