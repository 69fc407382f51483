"""Alpha-beta to a fixed depth with a heuristic evaluation, compiled by numba.

An evaluator is a NamedTuple: `register` says how positions are valued with one. The search of
`probcut` and the classical players of `azo.measure` are this function with different evaluators.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import overload

from azo.solver.host.kernels import ONE, ZERO, first, jit, legal_moves, play, surrounded

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
    """Tells `search` how the evaluators of a class value positions.

    Args:
      evaluator_class: a NamedTuple.
      value: jitted function of P, O, moves, is_over, evaluator and rules, the value of a position
        for the side to move; `moves` are its legal moves, `is_over` tells whether the game is over.
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

    Args:
      P: discs of the side to move.
      O: discs of the opponent.
      depth: plies to search.
      alpha: lower bound of the window, float.
      beta: upper bound of the window, float.
      pass_depth: depth that a pass uses up: 1, or 0 if depth counts placed discs.
      evaluator: of a class that was given to `register`.
      rules: board and variant.
      path: memory from `make_path`.

    Returns:
      The value for the side to move, exact between `alpha` and `beta`. A value that is not above
      alpha is returned as alpha, one that is not below beta as beta or more.
    """
    level, num_visited = 0, 0
    _set(path[0], P, O, alpha, beta, depth)
    while True:
        node = path[level]
        num_visited += 1
        value, is_over = 0.0, _list_moves(node, rules)
        is_leaf = is_over or node.depth <= 0
        if is_leaf:
            P, O = node.player, node.opponent
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
def _list_moves(node, rules):
    """Lists the moves of a position, and returns whether its game is over."""
    P, O = node.player, node.opponent
    node.moves = legal_moves(P, O, rules.on_board)
    return node.moves == ZERO and legal_moves(O, P, rules.on_board) == ZERO


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
