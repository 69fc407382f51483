"""The best move of a classical player: alpha-beta to a fixed depth, compiled by numba.

The search is that of `azo.solver.host.fixed_depth`. Here are the evaluations and the order of
moves at the root: those of Iagno's levels (`iagno`), and that of `classical.alpha_beta`.
"""

from typing import NamedTuple

import numpy as np

from azo.games import variant
from azo.games.host import host_rules
from azo.games.host.kernels import ONE, count, first, flips, jit, legal_moves, play, surrounded
from azo.opponents import iagno
from azo.solver.host import fixed_depth

STYLES = ("easy", "medium", "hard", "positional")
EASY, MEDIUM, HARD, POSITIONAL = range(4)

# Weights of the positional style.
_MOVE = 4
_CORNER = 40
_DIAGONAL = -20
_BESIDE = -8
_FINAL_DISC = 1000

_INFINITE = 1e6


class ClassicalEvaluator(NamedTuple):
    """How a player values positions, and which of equal moves it plays."""

    style: int  # EASY to POSITIONAL
    table: np.ndarray  # [64] int64, for Iagno's medium and hard


def choose(
    game: variant.Variant,
    player: np.ndarray,
    opponent: np.ndarray,
    seed: np.ndarray,
    *,
    style: str,
    depth: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the results of `classical.Program.choose`."""
    rules = host_rules.make_rules(game.size, is_reversed=game.is_reversed)
    path, number = fixed_depth.make_path(depth), STYLES.index(style)
    actions = np.full(len(player), game.pass_action, np.int32)
    num_visited = np.zeros(len(player), np.int64)
    for row, (P, O) in enumerate(zip(player, opponent, strict=True)):
        if number != POSITIONAL and int(P | O).bit_count() < iagno.MIN_DISCS:
            square = iagno.random_square(P, O, int(seed[row]))
        else:
            evaluator = ClassicalEvaluator(number, iagno.noisy_table(int(seed[row])))
            square, _, num_visited[row] = best_move(P, O, depth, evaluator, rules, path)
        if square >= 0:
            actions[row] = square // 8 * game.size + square % 8
    return actions, num_visited


@jit
def value(P, O, moves, is_over, evaluator, rules):
    """Returns the value of a position for the side to move."""
    if evaluator.style == POSITIONAL:
        if is_over:
            return _FINAL_DISC * host_rules.final_score(P, O, rules)
        return _positional_value(P, O, moves, rules)
    if is_over:
        return iagno.final_value(P, O)
    if evaluator.style == EASY:
        return count(O) - count(P)
    return iagno.value(P, O, evaluator.table, 1 if evaluator.style == HARD else -1)


@jit
def _positional_value(P, O, moves, rules):
    mobility = count(moves) - count(legal_moves(O, P, rules.on_board))
    empty_corners = rules.corners & ~(P | O)
    near = surrounded(empty_corners) & ~rules.corners & rules.on_board
    diagonal, beside = near & rules.inside, near & ~rules.inside
    squares = _CORNER * (count(P & rules.corners) - count(O & rules.corners))
    squares += _DIAGONAL * (count(P & diagonal) - count(O & diagonal))
    squares += _BESIDE * (count(P & beside) - count(O & beside))
    # Mobility is good in both variants: with its sign reversed too, reversed Othello scored 0.25.
    return _MOVE * mobility + rules.sign * squares


fixed_depth.register(ClassicalEvaluator, value)


@jit
def _priority(P, O, square, evaluator):
    """Returns the priority of a move at the root; no two moves have the same."""
    column_first = np.int64(square % np.uint64(8) * np.uint64(8) + square // np.uint64(8))
    if evaluator.style == POSITIONAL:
        return 63 - np.int64(square)
    if evaluator.style == EASY:
        return 64 * count(flips(P, O, square)) + column_first
    return 64 * iagno.move_value(P, O, square, evaluator.table) + column_first


@jit
def best_move(P, O, depth, evaluator, rules, path):
    """Returns the square of the best move, its value, and the number of positions visited.

    The depth is in plies, at least 1; a pass is one. Of equal moves the first is played. `path` is
    memory from `fixed_depth.make_path(depth)`. Where no move is legal the square is -1, and the
    value means nothing.
    """
    legal = legal_moves(P, O, rules.on_board)
    squares, keys = np.zeros(count(legal), np.uint64), np.zeros(count(legal), np.int64)
    for i in range(len(squares)):
        squares[i] = first(legal)
        legal &= legal - ONE
        keys[i] = -_priority(P, O, squares[i], evaluator)
    best_square, best_value, num_visited = np.int64(-1), -_INFINITE, 0
    for i in np.argsort(keys):
        child_P, child_O = play(P, O, squares[i])
        reply_value, num_below = fixed_depth.search(
            child_P, child_O, depth - 1, -_INFINITE, -best_value, 1, evaluator, rules, path
        )
        num_visited += num_below
        if -reply_value > best_value:
            best_square, best_value = np.int64(squares[i]), -reply_value
    return best_square, best_value, num_visited
