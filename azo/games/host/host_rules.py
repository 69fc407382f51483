"""The rules on the host, for single positions: board, moves, score and symmetries.

A position is two words of 64 bits, as in `kernels`. Symmetries have the numbers of
`azo.games.board_symmetry`.
"""

import functools
from typing import NamedTuple

import numpy as np

from azo.games import board_symmetry, notation, variant
from azo.games.host.kernels import ONE, count, flips, jit, legal_moves

NUM_SYMMETRIES = board_symmetry.NUM_SYMMETRIES
_REFLECTIONS = tuple(board_symmetry.reflections(k) for k in range(NUM_SYMMETRIES))
_TURNED_ACTIONS = np.zeros((9, NUM_SYMMETRIES, 65), np.int8)  # by board size, symmetry and action
for _size in variant.SIZES:
    _moved = np.argsort(board_symmetry.square_permutations(_size), axis=1)
    _TURNED_ACTIONS[_size, :, : _size**2], _TURNED_ACTIONS[_size, :, _size**2] = _moved, _size**2

_U = np.uint64
_ODD, _PAIRS, _NIBBLES = _U(0x5555555555555555), _U(0x3333333333333333), _U(0x0F0F0F0F0F0F0F0F)
_BYTES, _WORDS = _U(0x00FF00FF00FF00FF), _U(0x0000FFFF0000FFFF)
_STEP_7, _STEP_14, _STEP_28 = _U(0x00AA00AA00AA00AA), _U(0x0000CCCC0000CCCC), _U(0x00000000F0F0F0F0)


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


@jit
def action_of(square, size):
    """Returns the action of a square, a bit of the 8-wide board."""
    return square // 8 * size + square % 8


def play(player: int, opponent: int, action: int, size: int) -> tuple[int, int]:
    """Returns the discs after a legal action or a pass, those of the next side to move first."""
    P, O = after(np.uint64(player), np.uint64(opponent), action, size)
    return int(P), int(O)


@jit
def after(P, O, action, size):
    """Returns the position after a legal action, for the next side to move."""
    if action == size * size:
        return O, P
    square = np.uint64(action // size * 8 + action % size)
    discs = flips(P, O, square)
    return O ^ discs, P | discs | (ONE << square)


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


@jit
def turned(board, k, size):
    """Returns a board of `size` rows after symmetry `k`."""
    gap = _U(8 - size)
    mirrors_columns, mirrors_rows, transposes = _REFLECTIONS[k]
    if mirrors_columns:
        board = ((board >> _U(1)) & _ODD) | ((board & _ODD) << _U(1))
        board = ((board >> _U(2)) & _PAIRS) | ((board & _PAIRS) << _U(2))
        board = ((board >> _U(4)) & _NIBBLES) | ((board & _NIBBLES) << _U(4))
        board >>= gap
    if mirrors_rows:
        board = ((board >> _U(8)) & _BYTES) | ((board & _BYTES) << _U(8))
        board = ((board >> _U(16)) & _WORDS) | ((board & _WORDS) << _U(16))
        board = (board >> _U(32)) | (board << _U(32))
        board >>= gap << _U(3)
    if transposes:
        moved = (board ^ (board >> _U(7))) & _STEP_7
        board = board ^ moved ^ (moved << _U(7))
        moved = (board ^ (board >> _U(14))) & _STEP_14
        board = board ^ moved ^ (moved << _U(14))
        moved = (board ^ (board >> _U(28))) & _STEP_28
        board = board ^ moved ^ (moved << _U(28))
    return board


@jit
def turned_action(action, k, size):
    """Returns the action after symmetry `k` of the board; the pass keeps its number."""
    return np.int64(_TURNED_ACTIONS[size, k, action])
