"""Alpha-beta with a table, for the positions above the last few empty squares; compiled by numba.

One question at a time is answered: is the score of a position above `alpha`? The search keeps its
own stack, so it can pause after some number of nodes and go on later.
"""

from typing import NamedTuple

import numpy as np

from azo.solver.host import estimate, last_squares, table
from azo.solver.host.kernels import (
    ONE,
    ZERO,
    count,
    first,
    flips,
    jit,
    legal_moves,
    num_liberties,
    stable_discs,
)
from azo.solver.host.last_squares import INFINITE, NODES

FEW = 7  # so many empty squares need neither a table nor an order by mobility
UNFINISHED = 126  # is returned when the budget of nodes is used up

# Columns of the frames of a stack.
_ALPHA, _EMPTIES, _NUM_MOVES, _BEST, _BEST_MOVE = range(5)
LEVEL = 1  # index in `counters`, after NODES: the level at which to go on
_LEVELS = 130  # squares, and a pass before each
_CHILD_P, _CHILD_O, _SQUARE, _KEY = range(4)

_NARROW = 1e-3  # width of a window that only asks on which side a guess is
_FIRST = 1 << 30  # a key above all others


class Cuts(NamedTuple):
    """When to trust a shallow search instead of a deep one; rows by number of empty squares.

    The score is taken to be within `margin` of `slope * estimate + offset`.
    """

    depth: np.ndarray  # [65] int64, of the shallow search; 0 for none
    slope: np.ndarray  # [65] float64
    offset: np.ndarray  # [65] float64
    margin: np.ndarray  # [65] float64, discs
    weights: np.ndarray  # [65, NUM_FEATURES] float64, of the estimate


def no_cuts() -> Cuts:
    """Returns what makes a search exact."""
    return Cuts(
        depth=np.zeros(65, np.int64),
        slope=np.zeros(65),
        offset=np.zeros(65),
        margin=np.zeros(65),
        weights=np.zeros((65, estimate.NUM_FEATURES)),
    )


class Stack:
    """Memory of one search at a time."""

    def __init__(self) -> None:
        self.boards = np.zeros((_LEVELS, 2), np.uint64)
        self.frames = np.zeros((_LEVELS, 5), np.int64)
        self.moves = np.zeros((_LEVELS, 64, 4), np.uint64)
        self.leaves = np.zeros((24, 6), np.uint64)
        self.estimate = estimate.make_work()
        self.counters = np.zeros(2, np.int64)


@jit
def _key(square, child_P, child_O, odd, rules):
    """Returns how early to try a move: best is what leaves the opponent few replies, now and later.

    The weights need the fewest nodes of those tried, for the FFO positions with 17 to 22 empties.
    """
    replies = legal_moves(child_P, child_O, rules.on_board)
    empty = rules.on_board & ~(child_P | child_O)
    key = -16 * (count(replies) + 2 * count(replies & rules.corners))
    key -= 6 * num_liberties(child_O, empty)
    if odd >> square & ONE:
        key += 3
    if rules.corners >> square & ONE:
        key += 16
    return key


@jit
def _expand(P, O, known, moves, rules):
    """Lists the moves of a position in `moves` and returns their number."""
    legal = legal_moves(P, O, rules.on_board)
    odd = last_squares.odd_quadrants(rules.on_board & ~(P | O), rules)
    best_known = table.move_of(known)
    num = 0
    while legal:
        square = first(legal)
        legal &= legal - ONE
        turned = flips(P, O, square)
        child_P, child_O = O ^ turned, P | turned | (ONE << square)
        moves[num, _CHILD_P] = child_P
        moves[num, _CHILD_O] = child_O
        moves[num, _SQUARE] = square
        if child_P == ZERO:
            key = _FIRST + 1
        elif np.int64(square) == best_known:
            key = _FIRST
        else:
            key = _key(square, child_P, child_O, odd, rules)
        moves[num, _KEY] = np.uint64(key)
        num += 1
    return num


@jit
def _find_enough(alpha, num, moves, memory):
    """Returns the index of a move known to be above alpha, -1 if there is none."""
    for i in range(num):
        known = table.find(moves[i, _CHILD_P], moves[i, _CHILD_O], memory)
        if known and -table.upper_of(known) > alpha:
            return i
    return -1


@jit
def search(
    P,
    O,
    alpha,
    empties,
    num_nodes,
    rules,
    cuts,
    memory,
    boards,
    frames,
    moves,
    work,
    guessing,
    counters,
):
    """Asks whether the score of a position is above `alpha`.

    Args:
      P: discs of the side to move.
      O: discs of the other side.
      alpha: what the score is compared with.
      empties: number of empty squares.
      num_nodes: pause as soon as `counters[NODES]` is not less.
      rules: board and variant.
      cuts: `no_cuts()` for exact scores. A table must not be used with others.
      memory: table of bounds.
      boards: like the others of the next, a part of `Stack`.
      frames: what is known of the positions on the way here.
      moves: their moves.
      work: for `leaves.few`.
      guessing: for `estimate.search`.
      counters: nodes, and the level at which to go on; the caller sets both to 0.

    Returns:
      A lower bound of the score if it is above alpha, else an upper bound; `UNFINISHED` if the
      search has paused: then the next call with the same arguments goes on.
    """
    level = counters[LEVEL]
    if level > 0:
        # Going on: the position on top of the stack has not been looked at yet.
        P, O = boards[level, 0], boards[level, 1]
        alpha, empties = frames[level, _ALPHA], frames[level, _EMPTIES]
    while True:
        # A new position.
        score = -INFINITE
        if empties <= FEW and level > 0:
            score = last_squares.few(P, O, alpha, empties, rules, work, counters)
        else:
            if counters[NODES] >= num_nodes:
                boards[level, 0], boards[level, 1] = P, O
                frames[level, _ALPHA], frames[level, _EMPTIES] = alpha, empties
                counters[LEVEL] = level
                return UNFINISHED
            counters[NODES] += 1
            known = table.find(P, O, memory)
            num = 0
            if known and table.lower_of(known) > alpha:
                score = table.lower_of(known)
            elif known and table.upper_of(known) <= alpha:
                score = table.upper_of(known)
            else:
                score = _stable_bound(P, O, alpha, empties, rules)
                # The first position must have a move.
                if score == -INFINITE and level > 0 and cuts.depth[empties] > 0:
                    score = _likely_bound(P, O, alpha, empties, rules, cuts, guessing)
                    if score > -INFINITE:
                        table.store(P, O, memory, score, alpha, table.NO_MOVE, empties)
            if score == -INFINITE:
                num = _expand(P, O, known, moves[level], rules)
                if num == 0 and not legal_moves(O, P, rules.on_board):
                    score = last_squares.final_score(P, O, rules)
                elif num > 0:
                    found = _find_enough(alpha, num, moves[level], memory)
                    if found >= 0:
                        child = moves[level, found]
                        score = -table.upper_of(
                            table.find(child[_CHILD_P], child[_CHILD_O], memory)
                        )
                        square = np.int64(child[_SQUARE])
                        table.store(P, O, memory, score, alpha, square, empties)
            if score == -INFINITE:
                boards[level, 0], boards[level, 1] = P, O
                frames[level, _ALPHA], frames[level, _EMPTIES] = alpha, empties
                frames[level, _NUM_MOVES] = num
                frames[level, _BEST], frames[level, _BEST_MOVE] = -INFINITE, table.NO_MOVE
                if num == 0:
                    moves[level, 0, _SQUARE] = table.NO_MOVE
                    level += 1
                    P, O, alpha = O, P, -alpha - 1
                    continue
        while score > -INFINITE:
            # The position is done: what does it mean for the one before?
            if level == 0:
                counters[LEVEL] = 0
                return score
            level -= 1
            P, O = boards[level, 0], boards[level, 1]
            alpha, empties = frames[level, _ALPHA], frames[level, _EMPTIES]
            if -score > frames[level, _BEST]:
                frames[level, _BEST] = -score
                current = frames[level, _NUM_MOVES]
                frames[level, _BEST_MOVE] = np.int64(moves[level, current, _SQUARE])
            best = frames[level, _BEST]
            score = -INFINITE
            if best > alpha or frames[level, _NUM_MOVES] == 0:
                score = best
                table.store(P, O, memory, best, alpha, frames[level, _BEST_MOVE], empties)
        # The next move.
        num, chosen = frames[level, _NUM_MOVES], 0
        row = moves[level]
        for i in range(1, num):
            if np.int64(row[i, _KEY]) > np.int64(row[chosen, _KEY]):
                chosen = i
        P, O = row[chosen, _CHILD_P], row[chosen, _CHILD_O]
        square = row[chosen, _SQUARE]
        for j in range(4):
            row[chosen, j] = row[num - 1, j]
        row[num - 1, _SQUARE] = square
        frames[level, _NUM_MOVES] = num - 1
        level += 1
        alpha, empties = -alpha - 1, empties - 1


@jit
def _stable_bound(P, O, alpha, empties, rules):
    """Returns an upper bound of the score if stable discs keep it from being above alpha."""
    # Seldom do so many discs of an equal game turn out stable.
    if alpha < 2 * (empties - 4):
        return -INFINITE
    theirs, ours = (O, P) if rules.sign > 0 else (P, O)
    bound = rules.num_squares - 2 * count(stable_discs(theirs, ours, rules.on_board))
    return bound if bound <= alpha else -INFINITE


@jit
def _likely_bound(P, O, alpha, empties, rules, cuts, work):
    """Returns a bound on alpha's side of the score that a shallow search makes likely.

    This is multi-ProbCut (Buro, "Experiments with Multi-ProbCut and a new high-quality evaluation
    function for Othello", 1997). A guess says which side to try.
    """
    depth, weights = cuts.depth[empties], cuts.weights
    slope, offset, margin = cuts.slope[empties], cuts.offset[empties], cuts.margin[empties]
    now = slope * estimate.guess(P, O, empties, weights, rules, work.features) + offset
    if now > alpha:
        enough = (alpha + 1 + margin - offset) / slope
        found = estimate.search(
            P, O, depth, enough - _NARROW, enough, empties, weights, rules, work
        )
        return (alpha | 1) + 1 if found >= enough else -INFINITE  # scores are even
    enough = (alpha - margin - offset) / slope
    found = estimate.search(P, O, depth, enough, enough + _NARROW, empties, weights, rules, work)
    return alpha & ~1 if found <= enough else -INFINITE
