"""Static move order: squares in odd regions first, then corners, edges and the other kinds.

The last disc in a region is an advantage, because the opponent cannot answer it there. The side to
move can expect it in a region with an odd number of empty squares. Regions are the four quadrants
of the board: nearly as good as connected regions, for four popcounts. Within a region the kind of
the square decides; reversed Othello has the opposite order of kinds.
"""

import functools

import jax
import jax.numpy as jnp

from azo.games import bitboard, othello


def first(
    game: othello.Othello, moves: bitboard.Bitboard, empties: bitboard.Bitboard
) -> bitboard.Bitboard:
    """Returns the bit of the first move in this order, or no bit where there are no moves."""
    odd = bitboard.from_int(0)
    for quadrant in map(bitboard.from_int, _quadrants(game.size)):
        is_odd = ((empties & quadrant).count() & 1) == 1
        odd = odd | quadrant.where(is_odd)
    moves = preferred(moves, odd)
    for kind in _kinds(game.size, game.is_reversed)[:-1]:
        moves = preferred(moves, bitboard.from_int(kind))
    return lowest(moves)


def preferred(moves: bitboard.Bitboard, squares: bitboard.Bitboard) -> bitboard.Bitboard:
    """Returns the moves on the given squares, or all moves where there is none on these."""
    both = moves & squares
    is_empty = both.is_empty()
    return bitboard.Bitboard(
        jnp.where(is_empty, moves.lower, both.lower), jnp.where(is_empty, moves.upper, both.upper)
    )


def lowest(board: bitboard.Bitboard) -> bitboard.Bitboard:
    """Returns the lowest bit of each bitboard, or no bit."""
    lower, upper = (word & (~word + jnp.uint32(1)) for word in (board.lower, board.upper))
    return bitboard.Bitboard(lower, jnp.where(board.lower == 0, upper, jnp.uint32(0)))


def has_several(board: bitboard.Bitboard) -> jax.Array:
    """Returns `[...]` bool: whether two or more bits are set."""
    rest = board & ~lowest(board)
    return ~rest.is_empty()


@functools.cache
def _quadrants(size: int) -> tuple[int, ...]:
    """Returns the squares of the four quadrants, which differ in size on odd boards."""
    halves = (range((size + 1) // 2), range((size + 1) // 2, size))
    return tuple(
        sum(1 << (8 * row + column) for row in rows for column in columns)
        for rows in halves
        for columns in halves
    )


@functools.cache
def _kinds(size: int, is_reversed: bool) -> tuple[int, ...]:
    """Returns the squares by kind, the best kind first; every square has one kind."""
    corner, edge, inside, c_square, x_square = (0, 0), (0, 2), (2, 2), (0, 1), (1, 1)
    order = (corner, edge, inside, c_square, x_square)
    kinds = dict.fromkeys(order, 0)
    for row in range(size):
        for column in range(size):
            near, far = sorted(min(place, size - 1 - place, 2) for place in (row, column))
            kind = inside if (near, far) == (1, 2) else (near, far)
            kinds[kind] |= 1 << (8 * row + column)
    squares = tuple(filter(None, kinds.values()))
    return squares[::-1] if is_reversed else squares
