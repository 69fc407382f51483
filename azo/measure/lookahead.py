"""Alpha-beta to a fixed depth with the evaluations of the classical players; compiled by numba.

A position is seen by the side to move, as in `azo.solver.host.kernels`. Which evaluation and order of moves
is meant is told by a `style`: those of Iagno's levels, or that of `classical.AlphaBeta`.
"""

import numpy as np

from azo.measure import iagno
from azo.solver.host import last_squares
from azo.solver.host.kernels import ONE, ZERO, count, first, flips, jit, legal_moves, surrounded

EASY, MEDIUM, HARD, POSITIONAL = range(4)

# Weights of the positional style.
_MOVE = 4
_CORNER = 40
_DIAGONAL = -20
_BESIDE = -8
_DISC_AT_END = 1000

_INFINITE = 1_000_000
_UNKNOWN = 2 * _INFINITE

# Columns of the frames of a search.
_ALPHA, _BETA, _DEPTH = range(3)


@jit
def value(P, O, style, table, rules):
    """Returns what a position in which the game goes on is worth to the side to move."""
    if style == EASY:
        return count(O) - count(P)
    if style == MEDIUM:
        return iagno.value(P, O, table, -1)
    if style == HARD:
        return iagno.value(P, O, table, 1)
    mobility = count(legal_moves(P, O, rules.on_board)) - count(legal_moves(O, P, rules.on_board))
    empty_corners = rules.corners & ~(P | O)
    near = surrounded(empty_corners) & ~rules.corners & rules.on_board
    diagonal, beside = near & rules.inside, near & ~rules.inside
    squares = _CORNER * (count(P & rules.corners) - count(O & rules.corners))
    squares += _DIAGONAL * (count(P & diagonal) - count(O & diagonal))
    squares += _BESIDE * (count(P & beside) - count(O & beside))
    # Moves are good in both variants: with their sign reversed too, reversed Othello scored 0.25.
    return _MOVE * mobility + rules.sign * squares


@jit
def final_value(P, O, style, rules):
    """Returns what a finished game is worth to the side to move."""
    if style == POSITIONAL:
        return _DISC_AT_END * last_squares.final_score(P, O, rules)
    return iagno.final_value(P, O)


@jit
def _priority(P, O, square, style, table):
    """Returns how early a move is looked at from the root, the highest first; all differ."""
    column_first = np.int64(square % np.uint64(8) * np.uint64(8) + square // np.uint64(8))
    if style == POSITIONAL:
        return 63 - np.int64(square)
    if style == EASY:
        return 64 * count(flips(P, O, square)) + column_first
    return 64 * iagno.move_value(P, O, square, table) + column_first


@jit
def best_move(P, O, depth, style, table, rules):
    """Returns the square of the first best move, its value, and the number of positions visited.

    Args:
      P: discs of the side to move.
      O: discs of the other side.
      depth: plies to look ahead, at least 1; a pass is one.
      style: how positions are valued and which of equal moves comes first.
      table: `[64]` int64, for the styles of Iagno's medium and hard.
      rules: board and variant.

    Returns:
      The square's bit, -1 where no move is legal, and two int64; without a move the value means
      nothing.
    """
    legal = legal_moves(P, O, rules.on_board)
    num_moves = count(legal)
    squares, keys = np.zeros(num_moves, np.uint64), np.zeros(num_moves, np.int64)
    for i in range(num_moves):
        squares[i] = first(legal)
        legal &= legal - ONE
        keys[i] = -_priority(P, O, squares[i], style, table)
    boards, legal_below = np.zeros((depth + 1, 2), np.uint64), np.zeros(depth + 1, np.uint64)
    frames, num_visited = np.zeros((depth + 1, 3), np.int64), np.zeros(1, np.int64)
    best_square, best = np.int64(-1), -_INFINITE
    for i in np.argsort(keys):
        square = squares[i]
        turned = flips(P, O, square)
        found = -search(
            O ^ turned,
            P | turned | ONE << square,
            depth - 1,
            -_INFINITE,
            -best,
            style,
            table,
            rules,
            boards,
            legal_below,
            frames,
            num_visited,
        )
        if found > best:
            best_square, best = np.int64(square), found
    return best_square, best, num_visited[0]


@jit
def _likely_good(legal, rules):
    """Returns a corner if one is legal, else a square not beside a corner, else any legal one."""
    wanted = legal & rules.corners
    if wanted == ZERO:
        wanted = legal & ~surrounded(rules.corners)
    if wanted == ZERO:
        wanted = legal
    return first(wanted)


@jit
def search(P, O, depth, alpha, beta, style, table, rules, boards, legal_below, frames, num_visited):
    """Returns the value of a position `depth` plies on, under best play by both sides.

    It is exact between `alpha` and `beta`, and `alpha` or at least `beta` where it lies outside.
    `boards`, `legal_below` and `frames` are memory with a row for each ply.
    """
    level = 0
    while True:
        # A new position.
        num_visited[0] += 1
        moves = legal_moves(P, O, rules.on_board)
        worth = _UNKNOWN
        if moves == ZERO and legal_moves(O, P, rules.on_board) == ZERO:
            worth = final_value(P, O, style, rules)
        elif depth == 0:
            worth = value(P, O, style, table, rules)
        else:
            boards[level, 0], boards[level, 1] = P, O
            frames[level, _ALPHA], frames[level, _BETA] = alpha, beta
            frames[level, _DEPTH] = depth
            legal_below[level] = moves
            if moves == ZERO:
                level += 1
                P, O, alpha, beta, depth = O, P, -beta, -alpha, depth - 1
                continue
        while worth != _UNKNOWN:
            if level == 0:
                return worth
            level -= 1
            alpha = max(frames[level, _ALPHA], -worth)
            frames[level, _ALPHA] = alpha
            is_done = alpha >= frames[level, _BETA] or legal_below[level] == ZERO
            worth = alpha if is_done else _UNKNOWN
        P, O = boards[level, 0], boards[level, 1]
        square = _likely_good(legal_below[level], rules)
        legal_below[level] &= ~(ONE << square)
        turned = flips(P, O, square)
        P, O = O ^ turned, P | turned | ONE << square
        alpha, beta = -frames[level, _BETA], -frames[level, _ALPHA]
        depth = frames[level, _DEPTH] - 1
        level += 1
