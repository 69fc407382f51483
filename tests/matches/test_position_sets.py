"""Sets of positions: from random games, and from files."""

import functools

import jax
import numpy as np
import pytest
from support.builders.random_games import signed_squares
from support.references import slow_minimax

from azo.formats import obf
from azo.games import notation, othello
from azo.matches import position_sets

FOUR = othello.Othello(4)
FOUR_REVERSED = othello.Othello(4, is_reversed=True)
NO = position_sets.NO_UTILITY
START = "-----OX--XO-----"
PASS_ONLY = "XXXXXXXXXXXXXXO-"  # white cannot move, black can


@pytest.mark.slow
@pytest.mark.parametrize("is_reversed", [False, True])
def test_positions_of_random_games_have_the_scores_of_minimax(is_reversed):
    game = othello.Othello(4, is_reversed)
    draw = functools.partial(position_sets.of_random_games, game, num_positions=40, num_empties=6)
    positions = draw(jax.random.key(3))
    boards = signed_squares(positions.position, 4)
    assert len(positions) == len(np.unique(boards, axis=0)) == 40
    assert (np.sum(boards == 0, axis=(1, 2)) == 6).all()
    assert slow_minimax.can_play(boards).all()
    sign = -1 if is_reversed else 1
    scores = slow_minimax.scores(boards, is_reversed=is_reversed)
    np.testing.assert_array_equal(positions.utility, sign * scores)
    moves = slow_minimax.move_scores(boards, is_reversed=is_reversed)
    expected = np.where(moves == -1000, NO, sign * moves)
    np.testing.assert_array_equal(positions.move_utility[:, :16], expected)
    assert (positions.move_utility[:, 16] == NO).all()
    other = draw(jax.random.key(4))
    assert not np.array_equal(signed_squares(other.position, 4), boards)


def problems_of(*lines):
    return list(obf.parse_lines(lines, "here"))


def test_scores_of_a_file_are_taken_as_they_are():
    problems = problems_of(
        f"{START} X; B1:-10; A2:-10; D3:-10; C4:-10;",
        f"{START} X; B1:-10; A2:-12;",  # not all moves
        f"{START} O; A3:-10; B4:-6; C1:-8; D2:-10;",
        "XXXXXXXXXXXXXXXX X; pass:+16",  # finished: left out
    )
    for game, sign in ((FOUR, 1), (FOUR_REVERSED, -1)):
        positions = position_sets.of_problems(game, problems, max_solved=0)
        best = [-10, -10, -6] if sign > 0 else [10, 12, 10]
        assert positions.utility.tolist() == best
        moves = positions.move_utility
        assert moves[0, [1, 4, 11, 14]].tolist() == [-10 * sign] * 4
        assert (moves != NO).sum(axis=1).tolist() == [4, 0, 4]
        assert moves[2, notation.parse_action("b4", 4)] == -6 * sign


def test_moves_that_a_file_does_not_tell_are_solved():
    problems = problems_of("board,mover,score", f"{START},X,-10", f"{START},O,-10")
    assert (position_sets.of_problems(FOUR, problems, max_solved=11).move_utility == NO).all()
    positions = position_sets.of_problems(FOUR, problems, max_solved=12)
    assert positions.move_utility[0, [1, 4, 11, 14]].tolist() == [-10] * 4
    assert (positions.move_utility != NO).sum(axis=1).tolist() == [4, 4]


def test_best_moves_are_those_of_the_highest_score_where_all_moves_have_one():
    problems = problems_of(
        f"{START} X; B1:+2; A2:+2; D3:+0; C4:-4;", f"{START} X; B1:+2;", f"{PASS_ONLY} O; pass:-16;"
    )
    positions = position_sets.of_problems(FOUR, problems, max_solved=0)
    # b1 is 1, a2 is 4. One score of four moves does not tell the best; a pass is forced.
    assert [np.flatnonzero(row).tolist() for row in positions.is_best] == [[1, 4], [], []]
    assert positions.utility.tolist() == [2, 2, -16]
