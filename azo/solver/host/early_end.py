"""Search for a forced early end of the game, such as a wipe-out, within a few plies.

The solver searches each move down to the last square. With many empty squares it reaches its limit
before it looks at the reply that wins in three plies. This search deepens two plies at a time.
"""

from typing import NamedTuple

import numpy as np

from azo.solver.host import fixed_depth, last_squares
from azo.solver.host.kernels import ONE, ZERO, first, jit, legal_moves, play

MAX_DEPTH = 15  # plies
_LEAST_GROWTH = 8  # of the positions visited, by two plies more


class EndEvaluator(NamedTuple):
    """Values finished games alone, as an evaluator of `fixed_depth.search`."""


@jit
def _final_score(P, O, moves, is_over, evaluator, rules):
    """Returns the final score, 0 for a game that goes on."""
    return np.float64(last_squares.final_score(P, O, rules)) if is_over else 0.0


fixed_depth.register(EndEvaluator, _final_score)


def winning_move(
    P: np.uint64, O: np.uint64, max_nodes: int, rules: last_squares.SolverRules, path: np.ndarray
) -> tuple[int, int] | None:
    """Returns a move by which the side to move forces an early end of the game and wins.

    Args:
      P: discs of the side to move.
      O: discs of the opponent.
      max_nodes: positions to visit, about.
      rules: board and variant.
      path: memory from `fixed_depth.make_path(MAX_DEPTH)`.

    Returns:
      A square of the board with 8 columns, and the least utility that it leads to, as of
      `last_squares.final_score`; None if there is no move, or no such end was found.
    """
    return _winning_move(P, O, max_nodes, EndEvaluator(), rules, path)


@jit
def _winning_move(P, O, max_nodes, evaluator, rules, path):
    num_nodes, num_before = 0, 0
    legal = legal_moves(P, O, rules.on_board)
    for depth in range(0, MAX_DEPTH, 2):
        moves = legal
        while moves != ZERO:
            square = first(moves)
            moves &= ~(ONE << square)
            child_P, child_O = play(P, O, square)
            value, num_visited = fixed_depth.search(
                child_P, child_O, depth, -64.0, 0.0, 1, evaluator, rules, path
            )
            num_nodes += num_visited
            if value < 0:
                return np.int64(square), np.int64(-value)
        if num_nodes + _LEAST_GROWTH * (num_nodes - num_before) > max_nodes:
            break
        num_before = num_nodes
    return None
