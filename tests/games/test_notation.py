"""Moves, transcripts and boards as text; published games replay to their scores."""

import pathlib
import re

import jax
import pytest

from azo.games import bitboard, notation, othello, replaying

_FILES = sorted((pathlib.Path(__file__).parents[1] / "data").glob("olivaw_game*.txt"))
_GAME = othello.Othello(8)
# What the data folder's README says about the twelve games, black first, the empty squares given to
# the winner. Game 9 is printed as 45-19: the paper exchanged the two numbers.
_OLIVAW_SCORES = {
    1: (32, 32),
    2: (32, 32),
    3: (43, 21),
    4: (36, 28),
    5: (33, 31),
    6: (27, 37),
    7: (40, 24),
    8: (27, 37),
    9: (19, 45),
    10: (35, 29),
    11: (35, 29),
    12: (47, 17),
}
_OLIVAW_PASSES = {1: 2, 2: 1, 3: 2, 4: 0, 5: 3, 6: 0, 7: 0, 8: 1, 9: 1, 10: 0, 11: 1, 12: 1}


def _discs(text, size=4):
    board = notation.parse_board(text, size)
    return board.player, board.opponent


def _moves(path):
    return re.search(r"^moves: (\S+)$", path.read_text(), re.MULTILINE)[1]


def _final_score(game, replay):
    """Returns black's and white's discs, the empty squares given to the winner."""
    score = int(game.score(replay.positions[-1]))
    black_score = score if replay.is_black_to_move else -score
    num_squares = game.size**2
    return (num_squares + black_score) // 2, (num_squares - black_score) // 2


def _check_olivaw(path):
    number = int(path.stem[-2:])
    replay = replaying.replay(_moves(path), _GAME)
    assert replay.is_over
    assert _final_score(_GAME, replay) == _OLIVAW_SCORES[number]
    assert replay.actions.count(_GAME.pass_action) == _OLIVAW_PASSES[number]


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_published_games_replay_to_their_scores(path):
    _check_olivaw(path)


@pytest.mark.parametrize("number", range(1, 13))
def test_all_olivaw_games_replay_to_their_scores(data_folder, number):
    _check_olivaw(data_folder / "games" / "olivaw" / f"game{number:02}.txt")


@pytest.mark.parametrize("size", [3, 4, 5, 6, 7, 8])
def test_every_action_survives_the_round_trip_through_text(size):
    actions = range(size * size + 1)
    assert [notation.parse_action(notation.action_text(a, size), size) for a in actions] == list(
        actions
    )


@pytest.mark.parametrize(
    ("text", "size", "action"),
    [("a1", 8, 0), ("f5", 8, 37), ("F5", 8, 37), ("h8", 8, 63), ("f5", 6, 29), (" b1 ", 4, 1)],
)
def test_squares_are_a_column_letter_and_a_row_number(text, size, action):
    assert notation.parse_action(text, size) == action


@pytest.mark.parametrize("text", ["pass", "Pass", "pa", "PA", "--", "ps", "PS"])
def test_all_usual_spellings_of_a_pass_are_read(text):
    assert notation.parse_action(text, 8) == 64
    assert notation.parse_action(text, 6) == 36


@pytest.mark.parametrize("text", ["", "a", "i1", "a9", "a0", "g1", "a7", "f5d6", "5f", "p", "a²"])
def test_other_moves_are_refused_with_the_range_of_squares(text):
    with pytest.raises(ValueError, match=r"unknown move .*squares are a1 to f6, a pass is 'pass'"):
        notation.parse_action(text, 6)


@pytest.mark.parametrize("text", ["f5d6c3", "F5D6C3", "f5 d6 c3", " f5\nD6c3 "])
def test_transcripts_are_read_in_any_case_and_with_spaces(text):
    replay = replaying.replay(text, _GAME)
    assert replay.actions == (37, 43, 18)
    assert len(replay.positions) == 4
    assert not replay.is_over
    assert not replay.is_black_to_move


def test_forced_passes_may_be_written_or_left_out():
    written = _moves(_FILES[0])
    with_passes = replaying.replay(written, _GAME)
    without = replaying.replay(written.replace("PA", ""), _GAME)
    assert "PA" in written
    assert with_passes.actions == without.actions
    assert notation.transcript(without.actions, 8, has_passes=True) == written.lower()
    assert notation.transcript(without.actions, 8) == written.replace("PA", "").lower()


def test_an_illegal_move_is_named_with_its_ply_and_the_legal_ones():
    message = "illegal move 'a1' at ply 3 (f5 d6): black may play c3, c4, c5, c6 or c7"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        replaying.replay("f5d6a1", _GAME)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a1", "illegal move 'a1' at ply 1: black may play d3, c4, f5 or e6"),
        ("f5pa", "illegal move 'pass' at ply 2 (f5): white may play f4, d6 or f6"),
        ("f5x1", "cannot read 'x1' after 1 moves: squares are a1 to h8, a pass is 'pa'"),
        ("f5d", "cannot read 'd' after 1 moves: squares are a1 to h8, a pass is 'pa'"),
    ],
)
def test_bad_transcripts_are_refused_with_their_place(text, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        replaying.replay(text, _GAME)


def test_the_colour_in_messages_follows_the_first_mover():
    start = replaying.board_of(_GAME.start(), is_black_to_move=False)
    with pytest.raises(ValueError, match="ply 1: white may play"):
        replaying.replay_actions([0], _GAME, start=start)


def test_a_square_outside_a_small_board_is_refused():
    with pytest.raises(ValueError, match="cannot read 'h8' after 1 moves: squares are a1 to f6"):
        replaying.replay("c2h8", othello.Othello(6))


@pytest.mark.parametrize("text", ["1. f5 d6 2. c3", " f5, d6; c3 ", "1. f5 1... d6 2. c3\n"])
def test_move_numbers_and_commas_between_moves_are_skipped(text):
    assert notation.parse_moves(text, 8) == [37, 43, 18]


def test_moves_are_parsed_without_being_played():
    assert notation.parse_moves("", 8) == []
    assert notation.parse_moves("a1 pa a1", 4) == [0, 16, 0]


def test_the_only_legal_move_is_named_alone():
    game = othello.Othello(4, start_bits=_discs("XO--------------"))
    with pytest.raises(ValueError, match=r"black may play c1$"):
        replaying.replay("d4", game)


def test_a_move_after_the_end_is_refused():
    game = othello.Othello(4, start_bits=_discs("XO--------------"))
    assert replaying.replay("c1", game).is_over
    with pytest.raises(ValueError, match=r"move 'pass' at ply 2 \(c1\): the game is over"):
        replaying.replay("c1pa", game)


def test_a_start_position_may_force_a_pass():
    game = othello.Othello(4, start_bits=_discs("OX-------------- X"))
    replay = replaying.replay("c1", game)
    assert replay.actions == (16, 2)
    assert replaying.replay("pa c1", game).actions == replay.actions


def test_the_start_position_is_written_as_usual():
    start = replaying.board_of(_GAME.start(), is_black_to_move=True)
    expected = "-" * 27 + "OX" + "-" * 6 + "XO" + "-" * 27 + " X"
    assert notation.board_text(start, 8) == expected


@pytest.mark.parametrize("mover", ["X", "O"])
def test_a_board_survives_the_round_trip_through_text_and_position(mover):
    text = "XO--OOXX---XO-X- " + mover
    board = notation.parse_board(text, 4)
    assert notation.board_text(board, 4) == text
    position = replaying.position_of(board)
    assert replaying.board_of(position, is_black_to_move=mover == "X") == board


def test_discs_are_given_to_the_side_to_move_and_the_other():
    assert _discs("XX--O-----------") == (0b11, 1 << 8)
    assert _discs("XX--O----------- X") == (0b11, 1 << 8)
    assert _discs("XX--O----------- O") == (1 << 8, 0b11)
    assert _discs("**..o........... o") == (1 << 8, 0b11)
    start = replaying.board_of(_GAME.start(), is_black_to_move=True)
    player, opponent = _discs(notation.board_text(start, 8), 8)
    assert (player, opponent) == tuple(
        bitboard.to_int(board) for board in (_GAME.start().player, _GAME.start().opponent)
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("XO-", "board 'XO-': 3 squares, but a 4x4 board has 16"),
        ("-----?----------", "unknown character '?' at b2, use X (black), O (white) or - (empty)"),
        ("---------------- Z", "unknown mover 'Z', use X (black) or O (white)"),
        ("---------------- -", "unknown mover '-', use X (black) or O (white)"),
        ("", "board '': expected the squares, a space and the colour to move"),
        ("-------- -------- X", "expected the squares, a space and the colour to move"),
    ],
)
def test_bad_boards_are_refused_with_their_fault(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        notation.parse_board(text, 4)


def test_a_diagram_has_coordinates_and_the_mover():
    replay = replaying.replay("b1", othello.Othello(4))
    board = replay.last_board
    assert notation.diagram(board, 4).split("\n") == [
        "  a b c d",
        "1 - X - - 1",
        "2 - X X - 2",
        "3 - X O - 3",
        "4 - - - - 4",
        "  a b c d",
        "white (O) to move",
    ]


def test_positions_of_a_replay_are_single_ones():
    replay = replaying.replay("f5d6", _GAME)
    assert all(word.shape == () for word in jax.tree.leaves(replay.positions))
