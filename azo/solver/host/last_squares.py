"""Alpha-beta for the last few empty squares, without a table; compiled by numba.

Each function compares the score of one position, seen by the side to move, with `alpha`. The result
is a lower bound of the score if it is above `alpha`, else an upper bound. Empty squares count for
the winner. No function is recursive: numba cannot load a recursive function from its cache when
others call it (numba issue 6061). The functions for two and three squares are written out: as loops
over the squares the solver visited a fifth fewer nodes per second.
"""

import numpy as np

from azo.games.host.host_rules import final_score
from azo.games.host.kernels import (
    NEIGHBOURS,
    ONE,
    ZERO,
    count,
    first,
    flips,
    jit,
    legal_moves,
    play,
)

INFINITE = 127  # above all scores
NODES = 0  # index in `counters`


@jit
def odd_quadrants(empty, rules):
    """Returns the quadrants with an odd number of empty squares.

    A move there comes first: the side that plays the first disc in such a region can also play the
    last one, which the opponent cannot answer in the region (parity).
    """
    left, top = rules.left, rules.top
    odd = _if_odd(empty, left & top) | _if_odd(empty, left & ~top)
    return odd | _if_odd(empty, top & ~left) | _if_odd(empty, ~(left | top))


@jit
def _if_odd(empty, quadrant):
    return quadrant if count(empty & quadrant) & 1 else ZERO


@jit
def last_one(P, square, rules):
    """Returns the exact score with one empty square."""
    O = rules.on_board & ~P & ~(ONE << square)
    margin = 2 * count(P) - rules.num_squares
    turned = count(flips(P, O, square))
    if turned > 0:
        return (margin + 2 * turned + 2) * rules.sign
    turned = count(flips(O, P, square))
    if turned > 0:
        return (margin - 2 * turned) * rules.sign
    # Neither side can play: the square counts for the winner.
    return (margin + 2 if margin >= 0 else margin) * rules.sign


@jit
def last_two(P, O, alpha, a, b, rules, counters):
    """Returns the score with two empty squares."""
    counters[NODES] += 1
    best = -INFINITE
    turned = flips(P, O, a) if NEIGHBOURS[a] & O else ZERO
    if turned:
        best = -last_one(O ^ turned, b, rules)
        if best > alpha:
            return best
    turned = flips(P, O, b) if NEIGHBOURS[b] & O else ZERO
    if turned:
        return max(best, -last_one(O ^ turned, a, rules))
    if best > -INFINITE:
        return best
    # A pass: the opponent plays one of the squares.
    best = INFINITE
    turned = flips(O, P, a) if NEIGHBOURS[a] & P else ZERO
    if turned:
        best = last_one(P ^ turned, b, rules)
        if best <= alpha:
            return best
    turned = flips(O, P, b) if NEIGHBOURS[b] & P else ZERO
    if turned:
        return min(best, last_one(P ^ turned, a, rules))
    if best < INFINITE:
        return best
    return final_score(P, O, rules)


@jit
def _try_three(P, O, alpha, a, b, c, rules, counters):
    """Returns the score with three empty squares, or -INFINITE if no move is legal."""
    best = -INFINITE
    turned = flips(P, O, a) if NEIGHBOURS[a] & O else ZERO
    if turned:
        best = -last_two(O ^ turned, P | turned | (ONE << a), -alpha - 1, b, c, rules, counters)
        if best > alpha:
            return best
    turned = flips(P, O, b) if NEIGHBOURS[b] & O else ZERO
    if turned:
        score = -last_two(O ^ turned, P | turned | (ONE << b), -alpha - 1, a, c, rules, counters)
        if score > alpha:
            return score
        best = max(best, score)
    turned = flips(P, O, c) if NEIGHBOURS[c] & O else ZERO
    if turned:
        score = -last_two(O ^ turned, P | turned | (ONE << c), -alpha - 1, a, b, rules, counters)
        best = max(best, score)
    return best


@jit
def last_three(P, O, alpha, rules, counters):
    """Returns the score with three empty squares."""
    counters[NODES] += 1
    empty = rules.on_board & ~(P | O)
    # An odd quadrant holds one square, which comes first, or all three.
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


_NODE = np.dtype(
    [
        ("player", np.uint64),
        ("opponent", np.uint64),
        ("odd", np.uint64),  # moves in odd quadrants, not yet searched
        ("even", np.uint64),
        ("best_score", np.int64),
        ("empties", np.int64),
    ]
)


def make_stack() -> np.ndarray:
    """Returns memory for `few`, up to 11 empty squares and a pass before each disc."""
    return np.zeros(24, _NODE)


@jit
def few(P, O, alpha, empties, rules, stack, counters):
    """Returns the score with few empty squares; moves in odd quadrants come first.

    `stack` is from `make_stack`, and `counters[NODES]` counts the positions visited.
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
            best_score = -INFINITE
            if not legal:
                if legal_moves(O, P, rules.on_board):
                    # A pass is a node without moves, and the position of the opponent.
                    _push(stack[level], P, O, ZERO, ZERO, best_score, empties)
                    level += 1
                    P, O, alpha = O, P, -alpha - 1
                    continue
                score = final_score(P, O, rules)
        while score > -INFINITE:
            if level == 0:
                return score
            level -= 1
            node = stack[level]
            P, O, odd, even, empties = node.player, node.opponent, node.odd, node.even, node.empties
            best_score = max(node.best_score, -score)
            alpha = -alpha - 1
            score = best_score if best_score > alpha or not odd | even else -INFINITE
        if odd:
            square = first(odd)
            odd &= odd - ONE
        else:
            square = first(even)
            even &= even - ONE
        _push(stack[level], P, O, odd, even, best_score, empties)
        level += 1
        P, O = play(P, O, square)
        alpha, empties = -alpha - 1, empties - 1


@jit
def _push(node, P, O, odd, even, best_score, empties):
    node.player, node.opponent, node.odd, node.even = P, O, odd, even
    node.best_score, node.empties = best_score, empties
