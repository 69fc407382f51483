"""Alpha-beta with a table, iterative deepening and ProbCut on the pattern evaluation.

The shipped file has `weights` `[NUM_STAGES, shared entries]` int16, entries of mirrored contents of
a pattern once, and `cuts` `[NUM_STAGES, depths]` probcut.CUT with margins of one deviation.

Depth counts placed discs: a pass uses up none, so all evaluated positions of a search have equally
many empty squares. Finished games have their score. The search is principal variation search
(Marsland and Campbell 1982), compiled by numba. Values are seen by the side to move, in units of
`1 / evaluation.UNIT` discs.
"""

import functools
import pathlib
import statistics
from typing import NamedTuple

import numpy as np

from azo.games.host import host_rules
from azo.games.host.kernels import ONE, ZERO, count, first, jit, legal_moves, play
from azo.opponents.pattern_search import evaluation
from azo.solver.host import deep, probcut, table

NODES, _BEST_MOVE = 0, 1  # indices in `counters`

_INFINITE = 1 << 15
_FRAMES_A_PLY = 3  # a disc, a pass and a shallow search
_MAX_MOVES = 64
_TABLE_DEPTH = 2  # less deep positions are not stored
_ORDER_DEPTH = 3  # the moves of less deep positions are ordered without evaluations
_FIRST = 1 << 30  # a key above all others
_REPLY_KEY, _CORNER_KEY = 16, 64  # of each reply, of a corner that the opponent can take

FILE = pathlib.Path(__file__).with_name("patterns.npz")
CONFIDENCE = 0.93  # that a cut of the shipped file is right


class PatternSearch(NamedTuple):
    """Weights, cuts and memory of searches. A table belongs to one root."""

    rules: host_rules.HostRules
    weights: np.ndarray  # [NUM_STAGES, NUM_ROWS] int16
    cuts: np.ndarray  # [NUM_STAGES, depths] probcut.CUT; all zero for plain alpha-beta
    memory: np.ndarray  # table of bounds
    moves: np.ndarray  # [levels, _MAX_MOVES] deep.MOVE, from the root to the current position
    counters: np.ndarray  # [2] int64: nodes visited, best move of the root


def make_search(
    weights: np.ndarray, cuts: np.ndarray, *, max_depth: int, log_rows: int
) -> PatternSearch:
    """Returns a search with an empty table of `2**log_rows` rows of two entries."""
    num_levels = _FRAMES_A_PLY * (max_depth + 2)
    return PatternSearch(
        rules=host_rules.make_rules(8, is_reversed=False),
        weights=weights,
        cuts=cuts,
        memory=table.make_table(1 << log_rows),
        moves=np.zeros((num_levels, _MAX_MOVES), deep.MOVE),
        counters=np.zeros(2, np.int64),
    )


def choose(player: np.ndarray, opponent: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the results of `classical.Program.choose`; each row is searched on its own."""
    # Calls in several threads share no memory. The table is cleared for each move, so it is small.
    memory = make_search(*load(), max_depth=depth, log_rows=min(depth + 5, 18))
    actions = np.full(len(player), table.NO_MOVE, np.int32)
    num_visited = np.zeros(len(player), np.int64)
    for row, (P, O) in enumerate(zip(player, opponent, strict=True)):
        table.clear(memory.memory)
        memory.counters[:] = 0
        actions[row], _ = best_move(P, O, depth, memory)
        if actions[row] != table.NO_MOVE:
            num_visited[row] = memory.counters[NODES]
    return actions, num_visited


@functools.cache
def load() -> tuple[np.ndarray, np.ndarray]:
    """Returns the weights and the cuts of the shipped file, as in `PatternSearch`."""
    with np.load(FILE) as file:
        weights = file["weights"][:, evaluation.shared_entries()]
        return weights, make_cuts(file["cuts"], CONFIDENCE)


def make_cuts(fits: np.ndarray, confidence: float) -> np.ndarray:
    """Returns the cuts of fits `[NUM_STAGES, depths]`; each is right with the confidence."""
    cuts = fits.astype(probcut.CUT)
    cuts["margin"] *= statistics.NormalDist().inv_cdf(confidence)
    return cuts


@jit
def best_move(P, O, depth, search):
    """Returns the square of the best move of a position, and its value, by iterative deepening.

    The table has to be empty, or from an earlier search of the same position. The depth is at
    least 1, and at most that of `make_search`. With at most `depth` empty squares, the value is the
    exact score. The square is `table.NO_MOVE` if there is no legal move.
    """
    empties = search.rules.num_squares - count(P | O)
    value = np.int64(0)
    search.counters[_BEST_MOVE] = table.NO_MOVE
    for shallow in range(1, max(min(depth, empties), 1) + 1):
        value = run(P, O, shallow, -_INFINITE, _INFINITE, search)
    return search.counters[_BEST_MOVE], value


@jit
def run(P, O, depth, alpha, beta, search):
    """Returns the value of a position to a depth; a bound if it is not between alpha and beta."""
    # The types have to be those of the recursive calls: numba's cache cannot load a function that
    # calls another version of itself. Plain constants have other types.
    limits = np.int64(depth), np.int64(alpha), np.int64(beta)
    return _search(P, O, *limits, np.int64(0), search)


@jit
def _search(P, O, depth, alpha, beta, level, search):
    """Does the work of `run` for a position `level` calls below the root."""
    rules, weights, memory = search.rules, search.weights, search.memory
    search.counters[NODES] += 1
    legal = legal_moves(P, O, rules.on_board)
    if depth <= 0 or (legal == ZERO and legal_moves(O, P, rules.on_board) == ZERO):
        return evaluation.static_value(P, O, legal, weights, rules)
    moves, num_moves, hint = search.moves[level], 1, table.NO_MOVE
    if legal == ZERO:
        moves[0].player, moves[0].opponent, moves[0].square = O, P, table.NO_MOVE
    else:
        index = table.find(P, O, memory) if depth >= _TABLE_DEPTH else table.NOT_FOUND
        if index != table.NOT_FOUND:
            entry = memory[index]
            hint = np.int64(entry.move)
            if entry.depth >= depth and level > 0:
                if entry.lower >= beta or entry.lower == entry.upper:
                    return np.int64(entry.lower)
                if entry.upper <= alpha:
                    return np.int64(entry.upper)
        if beta == alpha + 1 and level > 0:
            shallow, bound, is_above = _likely_cut(P, O, legal, depth, alpha, beta, search)
            if shallow > 0:
                low = bound - is_above
                value = _search(P, O, shallow, low, low + 1, level + 1, search)
                if value >= bound if is_above else value <= bound:
                    value = beta if is_above else alpha
                    table.store(P, O, memory, value, alpha, beta, table.NO_MOVE, depth)
                    return value
        num_moves = _list_moves(P, O, depth, legal, hint, moves, search)

    first_alpha, best_value, chosen = alpha, -_INFINITE, table.NO_MOVE
    for index in range(num_moves):
        _bring_forward(moves, index, num_moves)
        move = moves[index]
        below = depth - (move.square != table.NO_MOVE)
        is_scout = index > 0 and beta > alpha + 1
        low = -alpha - 1 if is_scout else -beta
        value = -_search(move.player, move.opponent, below, low, -alpha, level + 1, search)
        if is_scout and alpha < value < beta:
            value = -_search(move.player, move.opponent, below, -beta, -alpha, level + 1, search)
        if value > best_value:
            best_value, chosen = value, move.square
            alpha = max(alpha, value)
        if best_value >= beta:
            break
    if level == 0:
        search.counters[_BEST_MOVE] = chosen
    if depth >= _TABLE_DEPTH:
        table.store(P, O, memory, best_value, first_alpha, beta, chosen, depth)
    return best_value


@jit
def _likely_cut(P, O, legal, depth, alpha, beta, search):
    """Returns the depth of a shallow search, 0 for none, and the bound that it may make likely.

    The third result says whether the bound is one from below; see `probcut.threshold`.
    """
    cuts, rules = search.cuts, search.rules
    empties = rules.num_squares - count(P | O)
    if depth >= min(empties, cuts.shape[1]):
        return 0, 0, False  # exact, or without a fit
    cut = cuts[evaluation.stage(empties), depth]
    if cut.depth == 0:
        return 0, 0, False
    value = evaluation.evaluate(P, O, legal, search.weights, rules)
    threshold, is_above = probcut.threshold(cut, value, alpha, beta)
    bound = np.int64(np.ceil(threshold) if is_above else np.floor(threshold))
    return cut.depth if abs(bound) < evaluation.MAX_VALUE else 0, bound, is_above


@jit
def _list_moves(P, O, depth, legal, hint, moves, search):
    """Lists the moves of a position with their keys; returns how many there are."""
    num = 0
    while legal:
        square = first(legal)
        legal &= legal - ONE
        move = moves[num]
        move.player, move.opponent = play(P, O, square)
        move.square = np.int64(square)
        if move.square == hint:
            move.key = _FIRST
        else:
            move.key = _key(move.player, move.opponent, depth, search.weights, search.rules)
        num += 1
    return num


@jit
def _key(child_P, child_O, depth, weights, rules):
    """Returns the priority of a move: high if it looks good, with few replies."""
    replies = legal_moves(child_P, child_O, rules.on_board)
    key = -_REPLY_KEY * count(replies) - _CORNER_KEY * count(replies & rules.corners)
    if depth >= _ORDER_DEPTH:
        key -= evaluation.static_value(child_P, child_O, replies, weights, rules)
    return key


@jit
def _bring_forward(moves, index, num_moves):
    """Swaps the move with the highest key to `index`; of equal ones the first."""
    chosen = index
    for i in range(index + 1, num_moves):
        if moves[i].key > moves[chosen].key:
            chosen = i
    if chosen != index:
        move, other = moves[index], moves[chosen]
        move.player, other.player = other.player, move.player
        move.opponent, other.opponent = other.opponent, move.opponent
        move.square, other.square = other.square, move.square
        move.key, other.key = other.key, move.key
