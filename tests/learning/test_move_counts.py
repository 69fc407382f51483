"""Counts of a move against plain Python, on boards of three sizes."""

import copy
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.builders import random_games
from support.references import slow_board

from azo.games import othello
from azo.networks import pattern_network, pattern_tables


@pytest.mark.thorough
@pytest.mark.parametrize("size", [4, 6, 8])
def test_counts_are_those_of_the_position_after_each_move(size):
    game = othello.Othello(size)
    games = random_games.play(game, 3, seed=2)
    plies = [2, size * size // 2, size * size - 10]
    position = jax.tree.map(
        lambda x: jnp.concatenate([jnp.asarray(x[p]) for p in plies]), games.position
    )
    pieces = np.asarray(game.planes(position)).reshape(-1, size, size, 2)
    boards = [board(one) for one in pieces]
    moves = [[is_legal(one, colour) for colour in "XO"] for one in boards]
    planes = np.concatenate([pieces, np.moveaxis(moves, 1, -1)], axis=-1)
    counts = pattern_network.move_counts(jnp.asarray(planes).reshape(-1, size**2, 4), size)
    assert len(counts) == pattern_tables.NUM_MOVE_COUNTS
    found = np.stack(counts, axis=-1).reshape(-1, size, size, len(counts))
    expected = np.zeros_like(found)
    for one, (row, column) in itertools.product(range(len(boards)), squares(size)):
        if moves[one][0][row][column]:
            expected[one, row, column] = counts_after(boards[one], row, column)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    varies = np.ptp(expected[np.array(moves)[:, 0] > 0], axis=0) > 0
    assert varies.sum() >= 10, varies


def counts_after(before, row, column):
    """Returns the counts of a move of "X", each in its unit."""
    size = before.size
    flipped = slow_board.flips(before, row, column, "X")
    after = copy.deepcopy(before)
    for r, c in [*flipped, (row, column)]:
        after.rows[r][c] = "X"
    replies = set(slow_board.legal_squares(after, "O"))
    others_moves = set(slow_board.legal_squares(before, "O"))
    empty = {(r, c) for r, c in squares(size) if after.rows[r][c] == "-"}
    own = {(r, c) for r, c in squares(size) if after.rows[r][c] == "X"}
    opened = set().union(*map(around, [*flipped, (row, column)])) & empty
    region = {(row, column)}
    for _ in range(8):
        region |= set().union(*map(around, region)) & empty
    corners = set(itertools.product((0, size - 1), repeat=2))
    unit = 1 / pattern_tables.TYPICAL_MOVES
    return [
        (row, column) in others_moves,
        unit * len(replies - others_moves),
        unit * sum(bool(around(disc) & empty) for disc in own),
        unit * len(opened),
        unit * len(opened - replies),
        len(region) % 2,
        len(region) == 1,
        len(region) == 2,
        unit * len(replies),
        (unit * len(replies)) ** 2,
        not replies,
        len(replies & corners),
        unit * len(slow_board.legal_squares(after, "X")),
        unit * len(flipped),
    ]


def board(pieces):
    """Returns the board of pieces `[size, size, 2]`, those of the mover as "X"."""
    rows = np.where(pieces[..., 0], "X", np.where(pieces[..., 1], "O", "-"))
    return slow_board.Board(rows.tolist())


def is_legal(one, colour):
    """Returns 1 where a colour may play, `[size][size]`."""
    legal = slow_board.legal_squares(one, colour)
    return [[int((r, c) in legal) for c in range(one.size)] for r in range(one.size)]


def around(square):
    """Returns the eight squares around one, also those outside the board."""
    row, column = square
    return {(row + down, column + right) for down in (-1, 0, 1) for right in (-1, 0, 1)} - {square}


def squares(size):
    """Returns all squares of a board."""
    return list(itertools.product(range(size), repeat=2))
