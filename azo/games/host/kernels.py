"""Bit kernels of the host's programs, compiled by numba: flips, legal moves, stable discs.

A position is two words of 64 bits: `P` holds the discs of the side to move, `O` the opponent's. Bit
`8 * row + column` is a square, a1 = 0, on boards of every size. No disc lies outside a smaller
board, so a line that leaves the board ends at an empty square, and one kernel serves all sizes.
All words are uint64, because numba turns the sum of a uint64 and a plain integer into a float.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.cpython.unsafe.numbers import leading_zeros, trailing_zeros
from numba.extending import intrinsic

from azo.games.host.compiling import jit

ZERO, ONE = np.uint64(0), np.uint64(1)
FULL = np.uint64(0xFFFFFFFFFFFFFFFF)
# Columns b to g: a line along a row or diagonal may pass through these without leaving the board.
_INNER = np.uint64(0x7E7E7E7E7E7E7E7E)
_NOT_A, _NOT_H = np.uint64(0xFEFEFEFEFEFEFEFE), np.uint64(0x7F7F7F7F7F7F7F7F)
_EDGES = np.uint64(0xFF818181818181FF)
_STEPS = ((0, 1), (1, -1), (1, 0), (1, 1))  # rows, columns: towards higher bits


def _lines(sign: int) -> np.ndarray:
    """Returns `[64, 4]` uint64: the squares beyond each square, towards higher or lower bits."""
    lines = np.zeros((64, 4), np.uint64)
    for square in range(64):
        for direction, (down, right) in enumerate(_STEPS):
            row, column = square // 8 + sign * down, square % 8 + sign * right
            while 0 <= row < 8 and 0 <= column < 8:
                lines[square, direction] |= np.uint64(1 << (8 * row + column))
                row, column = row + sign * down, column + sign * right
    return lines


_ABOVE, _BELOW = _lines(1), _lines(-1)


@intrinsic
def count(typing_context: Any, word: Any) -> Any:
    """Returns the number of bits of a word, int64."""
    del typing_context, word

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Begins to load the line of the cache with an element of an array, by its flat index."""
    del typing_context

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.gep(data, [arguments[1]])
        i32 = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place.type, i32, i32, i32])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [place, i32(0), i32(3), i32(1)])  # to read, to keep, data
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


first = trailing_zeros  # the index of the lowest bit of a word


@jit
def flips(P, O, square):
    """Returns the discs that a move of `P` on an empty square turns; 0 if the move is illegal."""
    turned = ZERO
    for direction in range(4):
        line = _ABOVE[square, direction]
        # A carry runs along the line through the discs of O and ends at the first other square.
        end = ((O | ~line) + ONE) & line & P
        turned |= (end - np.uint64(end != ZERO)) & line
        line = _BELOW[square, direction]
        end = ((ONE << np.uint64(63)) >> leading_zeros((line & ~O) | ONE)) & line & P
        turned |= (ZERO - (end << ONE)) & line
    return turned


@jit
def play(P, O, square):
    """Returns the position after a legal move, seen by the opponent, who moves next."""
    turned = flips(P, O, square)
    return O ^ turned, P | turned | (ONE << square)


@jit
def _reach(P, middle, step):
    """Returns the squares that end runs of `middle` beside `P`, in both directions of `step`."""
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
    """Returns the squares and their neighbours."""
    near = squares | (squares << ONE) & _NOT_A | (squares >> ONE) & _NOT_H
    return near | near << np.uint64(8) | near >> np.uint64(8)


_BITS = [ONE << np.uint64(square) for square in range(64)]
NEIGHBOURS = np.array([surrounded.py_func(bit) & ~bit for bit in _BITS])  # [64] uint64


@jit
def num_liberties(discs, empty):
    """Returns the number of empty squares that are neighbours of the discs."""
    return count(surrounded(discs) & empty)


@jit
def _in_line(empty, step, up_mask, down_mask):
    """Returns the squares with an empty square on their line in the direction `step`."""
    up, down = empty, empty
    for _ in range(7):
        up |= (up << step) & up_mask
        down |= (down >> step) & down_mask
    return up | down


@jit
def stable_discs(own, other, on_board):
    """Returns discs of `own` that can never turn: some of them, and no other disc.

    A disc is stable if each of the four lines through it is full, or ends beside the disc at the
    border, or continues with a stable disc of the same colour.
    """
    empty = on_board & ~(own | other)
    full_row = ~_in_line(empty, np.uint64(1), _NOT_A, _NOT_H)
    full_column = ~_in_line(empty, np.uint64(8), FULL, FULL)
    full_down = ~_in_line(empty, np.uint64(9), _NOT_A, _NOT_H)
    full_up = ~_in_line(empty, np.uint64(7), _NOT_H, _NOT_A)
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
