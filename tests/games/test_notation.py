"""Moves, transcripts and boards as text; published games replay to their scores."""

import re

import pytest
from support.references import olivaw

from azo.games import bitboard, notation, othello
from azo.games.host import live_game, move_lists

_GAME = othello.Othello(8)
# The published final scores, black first, the empty squares given to the winner; and the passes.
_OLIVAW = {1: (32, 32, 2), 8: (27, 37, 1), 11: (35, 29, 1), 12: (47, 17, 1)}


def _discs(text, size=4):
    board = notation.parse_board(text, size)
    return board.player, board.opponent


@pytest.mark.parametrize("number", _OLIVAW)
def test_published_games_replay_to_their_scores(number):
    replay = live_game.replay(olivaw.moves(number), _GAME)
    assert replay.is_over
    score, num_passes = replay.final_score(), replay.actions.count(_GAME.pass_action)
    assert ((64 + score) // 2, (64 - score) // 2, num_passes) == _OLIVAW[number]


@pytest.mark.parametrize("size", [3, 4, 5, 6, 7, 8])
def test_every_action_survives_the_round_trip_through_text(size):
    actions = range(size * size + 1)
    assert [notation.parse_action(notation.action_text(a, size), size) for a in actions] == list(
        actions
    )


@pytest.mark.parametrize(
    ("text", "action"),
    [("a1", 0), ("f5", 37), ("F5", 37), ("h8", 63), (" b1 ", 1)]
    + [(text, 64) for text in ("pass", "Pass", "pa", "PA", "--", "ps")],
)
def test_squares_are_a_column_letter_and_a_row_number_and_passes_have_many_spellings(text, action):
    assert notation.parse_action(text, 8) == action


@pytest.mark.parametrize("text", ["", "a", "a0", "g1", "a7", "f5d6", "5f", "a²"])
def test_other_moves_are_refused_with_the_range_of_squares(text):
    with pytest.raises(ValueError, match=r"unknown move .*squares are a1 to f6, a pass is 'pass'"):
        notation.parse_action(text, 6)


@pytest.mark.parametrize(
    "text",
    ["f5d6c3", "F5D6C3", " f5\nD6c3 ", "1. f5 d6 2. c3", " f5, d6; c3 ", "1. f5 1... d6 2. c3\n"],
)
def test_transcripts_are_read_in_any_case_with_spaces_and_numbers(text):
    replay = live_game.replay(text, _GAME)
    assert replay.actions == (37, 43, 18)
    assert len(replay.boards) == 4
    assert not replay.is_over
    assert not replay.board.is_black_to_move


def test_forced_passes_may_be_written_or_left_out():
    written = olivaw.moves(1)
    with_passes = live_game.replay(written, _GAME)
    without = live_game.replay(written.replace("PA", ""), _GAME)
    assert "PA" in written
    assert with_passes.actions == without.actions
    assert notation.transcript(without.actions, 8, has_passes=True) == written.lower()
    assert notation.transcript(without.actions, 8) == written.replace("PA", "").lower()


_ONE_MOVE = othello.Othello(4, start_bits=_discs("XO--------------"))


@pytest.mark.parametrize(
    ("text", "game", "message"),
    [
        (
            "f5d6a1",
            _GAME,
            "illegal move 'a1' at ply 3 (f5 d6): black may play c3, c4, c5, c6 or c7",
        ),
        ("f5pa", _GAME, "illegal move 'pass' at ply 2 (f5): white may play f4, d6 or f6"),
        ("f5x1", _GAME, "cannot read 'x1' after 1 move: squares are a1 to h8, a pass is 'pa'"),
        ("d4", _ONE_MOVE, "illegal move 'd4' at ply 1: black may play c1"),
        ("c1pa", _ONE_MOVE, "move 'pass' at ply 2 (c1): the game is over"),
    ],
)
def test_bad_transcripts_are_refused_with_their_place(text, game, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        live_game.replay(text, game)


def test_the_colour_in_messages_follows_the_first_mover():
    start = notation.Board(*_GAME.start_discs, is_black_to_move=False)
    with pytest.raises(ValueError, match="ply 1: white may play"):
        move_lists.replay(_GAME, [0], start)


def test_a_start_position_may_force_a_pass():
    game = othello.Othello(4, start_bits=_discs("OX-------------- X"))
    replay = live_game.replay("c1", game)
    assert replay.actions == (16, 2)
    assert live_game.replay("pa c1", game).actions == replay.actions


@pytest.mark.parametrize("mover", ["X", "O"])
def test_a_board_survives_the_round_trip_through_text(mover):
    text = "XO--OOXX---XO-X- " + mover
    board = notation.parse_board(text, 4)
    assert notation.board_text(board, 4) == text


def test_discs_are_given_to_the_side_to_move_and_the_other():
    assert _discs("XX--O-----------") == (0b11, 1 << 8)
    assert _discs("XX--O----------- X") == (0b11, 1 << 8)
    assert _discs("XX--O----------- O") == (1 << 8, 0b11)
    assert _discs("**..o........... o") == (1 << 8, 0b11)
    start = notation.Board(*_GAME.start_discs, is_black_to_move=True)
    player, opponent = _discs(notation.board_text(start, 8), 8)
    position = _GAME.start(1)
    sides = bitboard.to_ints(position.player), bitboard.to_ints(position.opponent)
    assert sides == ([player], [opponent])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("XO-", "board 'XO-': 3 squares, but a 4x4 board has 16"),
        ("-----?----------", "unknown character '?' at b2, use X (black), O (white) or - (empty)"),
        ("---------------- Z", "unknown mover 'Z', use X (black) or O (white)"),
        ("", "board '': expected the squares, a space and the colour to move"),
    ],
)
def test_bad_boards_are_refused_with_their_fault(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        notation.parse_board(text, 4)
