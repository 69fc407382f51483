"""The rules on the host, for single positions: board, moves, score and symmetries.

A position is two words of 64 bits, as in `kernels`. Symmetries have the numbers of
`azo.games.board_symmetry`.
"""

import functools
from typing import NamedTuple

import numpy as np

from azo.games import board_symmetry, notation, variant
from azo.games.host.kernels import count, jit, legal_moves, play


class HostRules(NamedTuple):
    """Board size and variant, as the kernels need them."""

    on_board: np.uint64
    left: np.uint64  # the left half of the board
    top: np.uint64  # the upper half
    corners: np.uint64
    inside: np.uint64  # all but the edges
    num_squares: int
    sign: int  # 1, or -1 where fewer discs win


@functools.cache
def make_rules(size: int, *, is_reversed: bool) -> HostRules:
    """Returns the rules of a board of `size` rows."""
    half, whole = range(size // 2), range(size)
    return HostRules(
        on_board=np.uint64(variant.square_bits(whole)),
        left=np.uint64(variant.square_bits(whole, half)),
        top=np.uint64(variant.square_bits(half, whole)),
        corners=np.uint64(variant.square_bits((0, size - 1))),
        inside=np.uint64(variant.square_bits(whole[1:-1])),
        num_squares=size * size,
        sign=-1 if is_reversed else 1,
    )


def check_board(player: int, opponent: int, rules: HostRules, size: int) -> None:
    """Raises ValueError if discs overlap, or lie outside a board of `size` rows."""
    if overlap := player & opponent:
        square = notation.action_text(action_of(overlap.bit_length() - 1, size), size)
        raise ValueError(f"impossible board: both sides have a disc on {square}")
    if (player | opponent) & ~int(rules.on_board):
        raise ValueError(f"impossible board: a disc lies outside of {size}x{size} squares")


def legal_squares(
    player: int | np.uint64, opponent: int | np.uint64, rules: HostRules
) -> list[int]:
    """Returns the squares on which the side to move may play, as bits of the 8-wide board."""
    legal = int(legal_moves(np.uint64(player), np.uint64(opponent), rules.on_board))
    return [square for square in range(64) if legal >> square & 1]


def legal_actions(player: int, opponent: int, size: int, rules: HostRules) -> tuple[int, ...]:
    """Returns the legal actions, ascending: only the pass if no square is legal; () at the end."""
    if squares := legal_squares(player, opponent, rules):
        return tuple(action_of(square, size) for square in squares)
    return (size * size,) if legal_squares(opponent, player, rules) else ()


@jit
def action_of(square, size):
    """Returns the action of a square, a bit of the 8-wide board."""
    return square // 8 * size + square % 8


@jit
def after(P, O, action, size):
    """Returns the position after a legal action, for the next side to move."""
    if action == size * size:
        return O, P
    return play(P, O, np.uint64(action // size * 8 + action % size))


@jit
def is_over(P, O, rules):
    """Returns whether neither side can place a disc."""
    return not legal_moves(P, O, rules.on_board) and not legal_moves(O, P, rules.on_board)


@jit
def final_score(P, O, rules):
    """Returns the score of a finished game."""
    own, other = count(P), count(O)
    margin = own - other
    empties = rules.num_squares - own - other
    if margin > 0:
        margin += empties
    elif margin < 0:
        margin -= empties
    return margin * rules.sign


def images(player: int, opponent: int, size: int) -> list[tuple[int, int]]:
    """Returns a position after each symmetry of a board of `size` rows."""
    sides = np.array([player, opponent], "<u8").view(np.uint8)
    bits = np.unpackbits(sides, bitorder="little").reshape(2, 64)
    moved = np.packbits(bits[:, _sources(size)], axis=-1, bitorder="little").view("<u8")
    return list(zip(*moved[..., 0].tolist(), strict=True))


@functools.cache
def _sources(size: int) -> np.ndarray:
    """Returns `[8, 64]`: bit `i` of the board after symmetry `k` was bit `[k, i]`."""
    places = np.arange(64)
    squares = places.reshape(8, 8)[:size, :size].ravel()
    sources = np.tile(places, (board_symmetry.NUM_SYMMETRIES, 1))
    sources[:, squares] = squares[board_symmetry.square_permutations(size)]
    return sources
