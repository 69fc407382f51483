"""The last empty squares, compiled by numba: alpha-beta without a table, ordered by parity.

All functions are for one position, seen by the side to move, and ask whether its score (empty
squares go to the winner) is above `alpha`: what they return is a lower bound of it if the answer is
above `alpha`, and an upper bound otherwise. There is no recursion: numba cannot load recursive
functions from its cache when others call them (numba issue 6061).
"""

from typing import NamedTuple

import numpy as np

from azo.solver.host import kernels
from azo.solver.host.kernels import ONE, ZERO, count, first, flips, jit, legal_moves

SIZES = (4, 6, 8)  # of boards that can be solved: with odd numbers of squares, scores are odd


class SolverRules(NamedTuple):
    """What differs between boards and variants."""

    on_board: np.uint64
    left: np.uint64  # the left half of the board
    top: np.uint64  # the upper half
    corners: np.uint64
    inside: np.uint64  # all but the edges
    num_squares: int
    sign: int  # 1, or -1 where fewer discs win


def make_rules(size: int, *, is_reversed: bool) -> SolverRules:
    """Returns the rules of a board of `size` rows."""
    row = (1 << size) - 1
    on_board = sum(row << 8 * r for r in range(size))
    left = sum(row >> size // 2 << 8 * r for r in range(size))
    top = sum(row << 8 * r for r in range(size // 2))
    corners = (1 | 1 << size - 1) * (1 | 1 << 8 * (size - 1))
    inside = sum((row >> 2 << 1) << 8 * r for r in range(1, size - 1))
    return SolverRules(
        on_board=np.uint64(on_board),
        left=np.uint64(left),
        top=np.uint64(top),
        corners=np.uint64(corners),
        inside=np.uint64(inside),
        num_squares=size * size,
        sign=-1 if is_reversed else 1,
    )


NEIGHBOURS = kernels.NEIGHBOURS
INFINITE = 127  # above all scores
NODES = 0  # index in `counters`


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
def odd_quadrants(empty, rules):
    """Returns the quarters of the board with an odd number of empty squares: better played first.

    Whoever plays first in such a quarter plays there last as well.
    """
    left_top = rules.left & rules.top
    left_bottom = rules.left & ~rules.top
    right_top = rules.top & ~rules.left
    odd = ZERO
    if count(empty & left_top) & 1:
        odd |= left_top
    if count(empty & left_bottom) & 1:
        odd |= left_bottom
    if count(empty & right_top) & 1:
        odd |= right_top
    right_bottom = ~(rules.left | rules.top)
    if count(empty & right_bottom) & 1:
        odd |= right_bottom
    return odd


@jit
def last_one(P, square, rules):
    """Returns the score with a single empty square: no choice is left."""
    O = rules.on_board & ~P & ~(ONE << square)
    margin = 2 * count(P) - rules.num_squares
    turned = count(flips(P, O, square))
    if turned > 0:
        return (margin + 2 * turned + 2) * rules.sign
    turned = count(flips(O, P, square))
    if turned > 0:
        return (margin - 2 * turned) * rules.sign
    # Nobody can play: the square goes to the winner.
    return (margin + 2 if margin >= 0 else margin) * rules.sign


@jit
def last_two(P, O, alpha, a, b, rules, counters):
    """Returns the score with two empty squares."""
    counters[NODES] += 1
    best = -INFINITE
    if NEIGHBOURS[a] & O:
        turned = flips(P, O, a)
        if turned:
            best = -last_one(O ^ turned, b, rules)
            if best > alpha:
                return best
    if NEIGHBOURS[b] & O:
        turned = flips(P, O, b)
        if turned:
            return max(best, -last_one(O ^ turned, a, rules))
    if best > -INFINITE:
        return best
    # A pass: the same from the other side.
    best = INFINITE
    if NEIGHBOURS[a] & P:
        turned = flips(O, P, a)
        if turned:
            best = last_one(P ^ turned, b, rules)
            if best <= alpha:
                return best
    if NEIGHBOURS[b] & P:
        turned = flips(O, P, b)
        if turned:
            return min(best, last_one(P ^ turned, a, rules))
    if best < INFINITE:
        return best
    return final_score(P, O, rules)


@jit
def _try_three(P, O, alpha, a, b, c, rules, counters):
    """Returns the score with three empty squares, -INFINITE if no move is legal."""
    best = -INFINITE
    if NEIGHBOURS[a] & O:
        turned = flips(P, O, a)
        if turned:
            best = -last_two(O ^ turned, P | turned | (ONE << a), -alpha - 1, b, c, rules, counters)
            if best > alpha:
                return best
    if NEIGHBOURS[b] & O:
        turned = flips(P, O, b)
        if turned:
            score = -last_two(
                O ^ turned, P | turned | (ONE << b), -alpha - 1, a, c, rules, counters
            )
            if score > alpha:
                return score
            best = max(best, score)
    if NEIGHBOURS[c] & O:
        turned = flips(P, O, c)
        if turned:
            score = -last_two(
                O ^ turned, P | turned | (ONE << c), -alpha - 1, a, b, rules, counters
            )
            best = max(best, score)
    return best


@jit
def last_three(P, O, alpha, rules, counters):
    """Returns the score with three empty squares."""
    counters[NODES] += 1
    empty = rules.on_board & ~(P | O)
    # One of three squares is alone in its quarter and comes first, or all are in one.
    rest = empty & odd_quadrants(empty, rules)
    a = first(rest)
    rest = (rest & (rest - ONE)) | (empty & ~rest)
    b = first(rest)
    c = first(rest & (rest - ONE))
    best = _try_three(P, O, alpha, a, b, c, rules, counters)
    if best > -INFINITE:
        return best
    best = _try_three(O, P, -alpha - 1, a, b, c, rules, counters)
    if best > -INFINITE:
        return -best
    return final_score(P, O, rules)


@jit
def last(P, O, alpha, empties, rules, counters):
    """Returns the score with at most three empty squares."""
    if empties == 3:
        return last_three(P, O, alpha, rules, counters)
    counters[NODES] += 1
    if empties == 0:
        return final_score(P, O, rules)
    empty = rules.on_board & ~(P | O)
    a = first(empty)
    if empties == 1:
        return last_one(P, a, rules)
    return last_two(P, O, alpha, a, first(empty & (empty - ONE)), rules, counters)


@jit
def few(P, O, alpha, empties, rules, stack, counters):
    """Returns the score with few empty squares.

    The first squares tried are those of odd quarters. `stack` is `[24, 6]` uint64 to work in: the
    two sides, squares left to try in odd and in even quarters, best score, empty squares.
    """
    level = 0
    while True:
        score = -INFINITE
        if empties <= 3:
            score = last(P, O, alpha, empties, rules, counters)
        else:
            counters[NODES] += 1
            legal = legal_moves(P, O, rules.on_board)
            odd = legal & odd_quadrants(rules.on_board & ~(P | O), rules)
            even = legal & ~odd
            best = -INFINITE
            if not legal:
                if legal_moves(O, P, rules.on_board):
                    # A pass is a frame without moves left, and the same position turned round.
                    _push(stack, level, P, O, ZERO, ZERO, best, empties)
                    level += 1
                    P, O, alpha = O, P, -alpha - 1
                    continue
                score = final_score(P, O, rules)
        while score > -INFINITE:
            if level == 0:
                return score
            level -= 1
            P, O, odd, even = stack[level, 0], stack[level, 1], stack[level, 2], stack[level, 3]
            best = max(np.int64(stack[level, 4]), -score)
            empties = np.int64(stack[level, 5])
            alpha = -alpha - 1
            score = best if best > alpha or not odd | even else -INFINITE
        if odd:
            square = first(odd)
            odd &= odd - ONE
        else:
            square = first(even)
            even &= even - ONE
        _push(stack, level, P, O, odd, even, best, empties)
        level += 1
        turned = flips(P, O, square)
        P, O, alpha, empties = O ^ turned, P | turned | (ONE << square), -alpha - 1, empties - 1


@jit
def _push(stack, level, P, O, odd, even, best, empties):
    stack[level, 0] = P
    stack[level, 1] = O
    stack[level, 2] = odd
    stack[level, 3] = even
    stack[level, 4] = np.uint64(best)
    stack[level, 5] = np.uint64(empties)
