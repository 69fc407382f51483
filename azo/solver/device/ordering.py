"""Which move to try first, from the squares alone: odd regions, then corners and edges.

Whoever plays last into a region gains by it, so a region with an odd number of empty squares comes
first. Regions are the four quarters of the board, which is nearly as good as real ones and costs
four popcounts. Within them squares are tried by their kind; reversed Othello likes what Othello
fears, and has the kinds the other way round.
"""

import functools

import jax
import jax.numpy as jnp

from azo.games import bitboard, othello


def first(
    game: othello.Othello, moves: bitboard.Bitboard, empties: bitboard.Bitboard
) -> bitboard.Bitboard:
    """Returns one of the moves, or no bit where there are none."""
    odd = bitboard.from_int(0)
    for quarter in map(bitboard.from_int, _quarters(game.size)):
        is_odd = ((empties & quarter).count() & 1) == 1
        odd = odd | quarter.where(is_odd)
    moves = preferred(moves, odd)
    for kind in _kinds(game.size, game.is_reversed)[:-1]:
        moves = preferred(moves, bitboard.from_int(kind))
    return lowest(moves)


def preferred(moves: bitboard.Bitboard, wanted: bitboard.Bitboard) -> bitboard.Bitboard:
    """Returns the moves that are wanted, or all of them where none is."""
    both = moves & wanted
    is_empty = both.is_empty()
    return bitboard.Bitboard(
        jnp.where(is_empty, moves.lower, both.lower), jnp.where(is_empty, moves.upper, both.upper)
    )


def lowest(board: bitboard.Bitboard) -> bitboard.Bitboard:
    """Returns the lowest bit of each bitboard, or no bit."""
    lower, upper = (word & (~word + jnp.uint32(1)) for word in (board.lower, board.upper))
    return bitboard.Bitboard(lower, jnp.where(board.lower == 0, upper, jnp.uint32(0)))


def has_several(board: bitboard.Bitboard) -> jax.Array:
    """Returns `[...]` bool: two bits are set, or more."""
    rest = board & ~lowest(board)
    return ~rest.is_empty()


@functools.cache
def _quarters(size: int) -> tuple[int, ...]:
    """Returns the squares of the four quarters; those of odd boards differ in size."""
    halves = (range((size + 1) // 2), range((size + 1) // 2, size))
    return tuple(
        sum(1 << (8 * row + column) for row in rows for column in columns)
        for rows in halves
        for columns in halves
    )


@functools.cache
def _kinds(size: int, is_reversed: bool) -> tuple[int, ...]:
    """Returns the squares by kind, the best first; every square is of one kind."""
    edge, inside, beside_corner, aslant = (0, 2), (2, 2), (0, 1), (1, 1)
    order = ((0, 0), edge, inside, beside_corner, aslant)
    kinds = dict.fromkeys(order, 0)
    for row in range(size):
        for column in range(size):
            near, far = sorted(min(place, size - 1 - place, 2) for place in (row, column))
            kind = inside if (near, far) == (1, 2) else (near, far)
            kinds[kind] |= 1 << (8 * row + column)
    squares = tuple(filter(None, kinds.values()))
    return squares[::-1] if is_reversed else squares
