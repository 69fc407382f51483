"""Bit kernels of the host solver, compiled by numba: flips, legal moves, stable discs.

A position is two words of 64 bits, `P` the discs of the side to move and `O` the other side's; bit
`8 * row + column` is a square, a1 = 0, on boards of every size. Since no disc lies outside a
smaller board, a line that runs off it ends at an empty square, and one kernel serves all sizes.
Words must be uint64 throughout: numba makes a float of a uint64 and a plain integer.
"""

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

ZERO, ONE = np.uint64(0), np.uint64(1)
FULL = np.uint64(0xFFFFFFFFFFFFFFFF)
# Columns b to g: what may be crossed sideways without leaving a row.
_INNER = np.uint64(0x7E7E7E7E7E7E7E7E)
_NOT_A, _NOT_H = np.uint64(0xFEFEFEFEFEFEFEFE), np.uint64(0x7F7F7F7F7F7F7F7F)
_EDGES = np.uint64(0xFF818181818181FF)
_STEPS = ((0, 1), (1, -1), (1, 0), (1, 1))  # rows, columns: towards higher bits

jit = numba.njit(cache=True, nogil=True, error_model="numpy")


def _lines(sign: int) -> np.ndarray:
    """Returns `[64, 4]` uint64: the squares from each square on towards higher or lower bits."""
    lines = np.zeros((64, 4), np.uint64)
    for square in range(64):
        for direction, (down, right) in enumerate(_STEPS):
            row, column = square // 8 + sign * down, square % 8 + sign * right
            while 0 <= row < 8 and 0 <= column < 8:
                lines[square, direction] |= np.uint64(1 << (8 * row + column))
                row, column = row + sign * down, column + sign * right
    return lines


def _neighbours() -> np.ndarray:
    """Returns `[64]` uint64: the up to eight squares around each square."""
    around = np.zeros(64, np.uint64)
    for square in range(64):
        for other in range(64):
            distance = max(abs(square // 8 - other // 8), abs(square % 8 - other % 8))
            if distance == 1:
                around[square] |= np.uint64(1 << other)
    return around


_ABOVE, _BELOW = _lines(1), _lines(-1)
NEIGHBOURS = _neighbours()


@intrinsic
def count(typing_context: Any, word: Any) -> Any:
    """Returns the number of bits of a word."""
    del typing_context, word

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@intrinsic
def first(typing_context: Any, word: Any) -> Any:
    """Returns the index of the lowest bit of a word that is not zero."""
    del typing_context, word

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@intrinsic
def _num_leading(typing_context: Any, word: Any) -> Any:
    """Returns the number of zeros above the highest bit of a word that is not zero."""
    del typing_context, word

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@jit
def flips(P, O, square):
    """Returns the discs that turn when `P` plays on an empty square; 0 if it is illegal."""
    turned = ZERO
    for direction in range(4):
        line = _ABOVE[square, direction]
        # A carry runs along the line through the discs of O, and ends at the first other square.
        end = ((O | ~line) + ONE) & line & P
        turned |= (end - np.uint64(end != ZERO)) & line
        line = _BELOW[square, direction]
        end = ((ONE << np.uint64(63)) >> _num_leading((line & ~O) | ONE)) & line & P
        turned |= (ZERO - (end << ONE)) & line
    return turned


@jit
def _reach(P, middle, step):
    """Returns where lines of `P` over discs of `middle` end, both ways along `step`."""
    up = middle & (P << step)
    down = middle & (P >> step)
    up |= middle & (up << step)
    down |= middle & (down >> step)
    chain_up, chain_down = middle & (middle << step), middle & (middle >> step)
    twice = step + step
    up |= chain_up & (up << twice)
    down |= chain_down & (down >> twice)
    up |= chain_up & (up << twice)
    down |= chain_down & (down >> twice)
    return (up << step) | (down >> step)


@jit
def legal_moves(P, O, on_board):
    """Returns the squares on which `P` may play."""
    inner = O & _INNER
    ends = _reach(P, inner, np.uint64(1))
    ends |= _reach(P, O, np.uint64(8))
    ends |= _reach(P, inner, np.uint64(7))
    ends |= _reach(P, inner, np.uint64(9))
    return ends & on_board & ~(P | O)


@jit
def surrounded(squares):
    """Returns squares and all around them."""
    near = squares | (squares << ONE) & _NOT_A | (squares >> ONE) & _NOT_H
    return near | near << np.uint64(8) | near >> np.uint64(8)


@jit
def num_liberties(discs, empty):
    """Returns the number of empty squares beside discs."""
    return count(surrounded(discs) & empty)


@jit
def _seen(empty, step, up_mask, down_mask):
    """Returns the squares from which an empty square is seen, both ways along `step`."""
    up, down = empty, empty
    for _ in range(7):
        up |= (up << step) & up_mask
        down |= (down >> step) & down_mask
    return up | down


@jit
def stable_discs(own, other, on_board):
    """Returns discs of `own` that can never turn: a part of them, and never one too many.

    A disc is stable if each of the four lines through it is full, or has on one side the border or
    a stable disc of the same colour.
    """
    empty = on_board & ~(own | other)
    full_row = ~_seen(empty, np.uint64(1), _NOT_A, _NOT_H)
    full_column = ~_seen(empty, np.uint64(8), FULL, FULL)
    full_down = ~_seen(empty, np.uint64(9), _NOT_A, _NOT_H)
    full_up = ~_seen(empty, np.uint64(7), _NOT_H, _NOT_A)
    outside = ~on_board
    stable = own & full_row & full_column & full_down & full_up
    left, right = ~_NOT_A, ~_NOT_H
    top, bottom = np.uint64(0xFF), np.uint64(0xFF) << np.uint64(56)
    while True:
        safe = stable | outside
        to_left, to_right = (safe & _NOT_H) << ONE | left, (safe & _NOT_A) >> ONE | right
        row = full_row | to_left | to_right
        column = full_column | safe << np.uint64(8) | safe >> np.uint64(8) | top | bottom
        down = full_down | to_left << np.uint64(8) | to_right >> np.uint64(8) | _EDGES
        up = full_up | to_right << np.uint64(8) | to_left >> np.uint64(8) | _EDGES
        more = own & row & column & down & up
        if more == stable:
            return stable
        stable = more
