"""Games in GGF: the published example, skipped properties, and refused texts."""

import dataclasses
import itertools

import pytest
from support.drivers.refusals import message_of
from support.references.nboard_example import PUBLISHED

from azo.formats import ggf
from azo.games import notation

START = notation.Board(black=1 << 28 | 1 << 35, white=1 << 27 | 1 << 36, is_black_to_move=True)


def test_the_published_example_is_read_and_written_as_it_was():
    game = ggf.parse(PUBLISHED)
    assert (game.size, game.board) == (8, START)
    # F5 is row 5, column 6: 8 * 4 + 5.
    assert game.moves == (37, 45, 19, 34, 44, 53, 52, 29)
    assert (game.black, game.white, game.is_reversed) == ("./mEdax", "chris", False)
    assert ggf.to_text(game) == PUBLISHED.replace("PC[NBoard]DT[2014-02-21 20:52:27 GMT]", "")


def test_evaluations_times_and_unknown_properties_are_skipped():
    text = (
        "(;GM[Othello]PC[GGS/os]RB[2000.5]RE[-10.00:t]TY[s8r18] BO[8 "
        + " ".join(["--------"] * 3 + ["---O*---", "---*O---"] + ["--------"] * 3)
        + " O]\nW[c5/1.2/3]B[PA//0.01] W[ d6 /-3]B[pass];)"
    )
    game = ggf.parse(text)
    assert game.board == dataclasses.replace(START, is_black_to_move=False)
    assert game.moves == (34, 64, 43, 64)


def test_written_games_are_read_back_on_any_board():
    board = notation.parse_board("-" * 14 + "OX" + "-" * 4 + "XO" + "-" * 14 + " O", 6)
    text = ggf.to_text(ggf.GgfGame(6, board, (8, 36)))
    assert text == (
        "(;GM[Othello]RE[?]TY[6]BO[6 --------------O*----*O-------------- O]W[C2]B[PA];)"
    )
    assert ggf.parse(text) == ggf.GgfGame(6, board, (8, 36))
    other = ggf.GgfGame(8, START, (19, 64, 18), black="a b", is_reversed=True)
    assert ggf.parse(ggf.to_text(other)) == other


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("(;GM", "GM"), "but should be (; ... ;)"),
        (("BO[8 ", "BO[10 "), "GGF: a 10x10 board; azo plays 4x4, 6x6 and 8x8"),
        (
            ("BO[8 ", "BO[-8 "),
            "but should be the size (4, 6 or 8), the squares and the side to move",
        ),
        (("BO[8 -", "BO[8 "), "GGF: BO: board '--------------------------O*"),
        (("GM[Othello]", "GM[Amazons]"), "GGF: the game is 'Amazons', not 'Othello'"),
        (("B[F5]", "KB[F5/3]"), "GGF: KB[F5/3] is a move of a komi game: not supported"),
    ],
)
def test_bad_texts_are_refused_with_their_fault_and_place(change, expected):
    assert change[0] in PUBLISHED
    assert expected in message_of(ggf.parse, PUBLISHED.replace(*change))


@pytest.mark.parametrize(
    "change",
    [
        ("PB[./mEdax]", "PB./mEdax"),
        ("TI[15:00]", "RE[+2]"),
        ("TI[15:00]", "TI[15:00]TI[5:00]C[a]C[b]XX[y]"),
        ("TY[8]", "TY[10]"),
        ("TY[8]", "TY[0]"),
        ("TY[8]", "TY[8k]"),
        ("TY[8]", "TY[]"),
        ("TY[8]", ""),
        ("BO[8 -", "XX[8 -"),
        ("B[F5]", "B[F5/x/1.0E-4]"),
        ("B[F5]", "B[F5///]"),
    ],
)
def test_fields_that_are_redundant_or_unknown_change_no_game(change):
    assert change[0] in PUBLISHED
    expected, game = ggf.parse(PUBLISHED), ggf.parse(PUBLISHED.replace(*change))
    assert (game.size, game.board, game.moves) == (expected.size, expected.board, expected.moves)
    assert (game.is_reversed, game.unread) == (False, "")


@pytest.mark.parametrize(
    ("kind", "is_reversed"),
    [
        ("8", False),
        ("8a", True),
        ("s8r18", False),
        ("8k", False),
        ("8ar20", True),
        ("s8r20a", True),
    ],
)
def test_the_type_says_whether_fewer_discs_win(kind, is_reversed):
    assert ggf.parse(PUBLISHED.replace("TY[8]", f"TY[{kind}]")).is_reversed == is_reversed


def test_moves_up_to_an_unreadable_one_are_read_and_a_side_that_moves_twice_has_passed_between():
    game = ggf.parse(PUBLISHED.replace("B[D3]", "B[D9]"))
    assert game.moves == (37, 45)
    assert game.unread.startswith("GGF: move 3, B[D9]: unknown move 'D9': squares are a1 to h8")
    assert ggf.parse(PUBLISHED.replace("B[D3]", "")).moves[:4] == (37, 45, 64, 34)


def test_a_name_that_would_end_its_property_is_not_written():
    message = message_of(ggf.to_text, ggf.GgfGame(8, START, black="a]b"))
    assert message == "GGF: PB is 'a]b', but must not contain ']'"


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("(;GM[2]B[f5](GM[2]W[d6])", ["f5", "d6"]),
        ("(;GM[2]B[f5]GM[2](GM[2]W[d6](GM[2]B[c3]", ["f5", "d6", "c3"]),
        ("(;GM[Othello]TY[8]B[F5](GM[Othello]W[D6];)", ["F5", "D6"]),
        ("(;GM[2]B[f5](;W[d6](GM[2]B[c3])", ["f5", "d6"]),
    ],
)
def test_a_second_name_of_a_game_without_a_start_is_passed_over(text, moves):
    """It once began the same game again, for ever."""
    games = list(itertools.islice(ggf.properties(text), 5))
    assert len(games) <= 2
    assert [value for name, value in games[0] if name in ("B", "W")] == moves
