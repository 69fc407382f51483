"""Alpha-beta to a fixed depth with a heuristic evaluation, compiled by numba.

An evaluator is a NamedTuple: `register` says how positions are valued with one. The search of
`probcut`, that for a forced early end of the game such as a wipe-out, and the classical players of
`azo.opponents` are this function with different evaluators.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from azo.games.host import host_rules
from azo.games.host.kernels import ONE, ZERO, first, jit, legal_moves, play, surrounded
from azo.solver.host import table

MAX_EARLY_DEPTH = 15  # plies of a search for an early end
_LEAST_GROWTH = 8  # of the positions visited, by two plies more
_NODE = np.dtype(
    [
        ("player", np.uint64),
        ("opponent", np.uint64),
        ("moves", np.uint64),  # not yet searched
        ("alpha", np.float64),
        ("beta", np.float64),
        ("depth", np.int64),
    ]
)


def make_path(max_depth: int) -> np.ndarray:
    """Returns memory for a search, with room for a pass before each disc."""
    return np.zeros(2 * max_depth + 2, _NODE)


def register(evaluator_class: type, value: Callable) -> None:
    """Tells `search` how the evaluators of a class, a NamedTuple, value positions.

    `value` is a jitted function of P, O, their legal moves, whether the game is over, the evaluator
    and the rules. It returns the value of a position for the side to move.
    """

    @overload(_value)
    def choose(P, O, moves, is_over, evaluator, rules):  # type: ignore[no-untyped-def]
        if getattr(evaluator, "instance_class", None) is evaluator_class:
            return lambda P, O, moves, is_over, evaluator, rules: value(
                P, O, moves, is_over, evaluator, rules
            )
        return None


def _value(P: Any, O: Any, moves: Any, is_over: Any, evaluator: Any, rules: Any) -> float:
    raise NotImplementedError  # `register` adds compiled versions


@jit
def search(P, O, depth, alpha, beta, pass_depth, evaluator, rules, path):
    """Returns the minimax value of a position to a fixed depth, and the number of visited nodes.

    The value is that for the side to move, exact between `alpha` and `beta`, which are floats. A
    value that is not above alpha is returned as alpha, one that is not below beta as beta or more.
    A pass uses up `pass_depth` of the depth in plies: 1, or 0 if only placed discs count. The class
    of the `evaluator` was given to `register`; `path` is from `make_path`.
    """
    level, num_visited = 0, 0
    _set(path[0], P, O, alpha, beta, depth)
    while True:
        node = path[level]
        num_visited += 1
        P, O, value = node.player, node.opponent, 0.0
        node.moves = legal_moves(P, O, rules.on_board)
        is_over = node.moves == ZERO and legal_moves(O, P, rules.on_board) == ZERO
        is_leaf = is_over or node.depth <= 0
        if is_leaf:
            value = np.float64(_value(P, O, node.moves, is_over, evaluator, rules))
        while is_leaf:
            if level == 0:
                return value, num_visited
            level -= 1
            node = path[level]
            value = max(node.alpha, -value)
            node.alpha = value
            is_leaf = value >= node.beta or node.moves == ZERO
        _descend(node, path[level + 1], pass_depth, rules)
        level += 1


@jit
def _set(node, P, O, alpha, beta, depth):
    node.player, node.opponent = P, O
    node.alpha, node.beta, node.depth = alpha, beta, depth


@jit
def _descend(node, child, pass_depth, rules):
    """Plays the next move of a node, a pass if there is none."""
    P, O = node.player, node.opponent
    if node.moves == ZERO:
        _set(child, O, P, -node.beta, -node.alpha, node.depth - pass_depth)
        return
    square = _next_square(node.moves, rules)
    node.moves &= ~(ONE << square)
    P, O = play(P, O, square)
    _set(child, P, O, -node.beta, -node.alpha, node.depth - 1)


@jit
def _next_square(moves, rules):
    """Returns a corner if there is one, else a square not beside a corner, else any."""
    preferred = moves & rules.corners
    if preferred == ZERO:
        preferred = moves & ~surrounded(rules.corners)
    return first(preferred if preferred != ZERO else moves)


class EndEvaluator(NamedTuple):
    """An evaluator of `fixed_depth.search` that values only finished games."""


@jit
def _final_score(P, O, moves, is_over, evaluator, rules):
    """Returns the final score, 0 for a game that goes on."""
    return np.float64(host_rules.final_score(P, O, rules)) if is_over else 0.0


register(EndEvaluator, _final_score)


@jit
def winning_move(P, O, max_nodes, evaluator, rules, path):
    """Returns a move by which the side to move forces an early end of the game and wins.

    The solver searches each move down to the last square. With many empty squares it reaches its
    limit before it looks at the reply that wins in three plies. This search deepens two plies at a
    time, and visits about `max_nodes` positions; `path` is from `make_path(MAX_EARLY_DEPTH)`.

    The result is a square, and the least utility that it leads to, as of `host_rules.final_score`;
    `table.NO_MOVE` if there is no move, or no such end was found.
    """
    num_nodes, num_before = 0, 0
    legal = legal_moves(P, O, rules.on_board)
    for depth in range(0, MAX_EARLY_DEPTH, 2):
        moves = legal
        while moves != ZERO:
            square = first(moves)
            moves &= ~(ONE << square)
            child_P, child_O = play(P, O, square)
            value, num_visited = search(
                child_P, child_O, depth, -64.0, 0.0, 1, evaluator, rules, path
            )
            num_nodes += num_visited
            if value < 0:
                return np.int64(square), np.int64(-value)
        if num_nodes + _LEAST_GROWTH * (num_nodes - num_before) > max_nodes:
            break
        num_before = num_nodes
    return np.int64(table.NO_MOVE), np.int64(0)
