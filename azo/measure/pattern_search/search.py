"""Alpha-beta with a table, iterative deepening and ProbCut on the pattern evaluation.

Depth counts placed discs: a pass uses up none, so all evaluated positions of a search have equally
many empty squares. Finished games have their score. The search is principal variation search
(Marsland and Campbell 1982) with a stack of its own, compiled by numba. Values are seen by the side
to move, in units of `1 / evaluation.UNIT` discs.
"""

from typing import NamedTuple

import numpy as np

from azo.measure.pattern_search import evaluation
from azo.solver.host import deep, last_squares, table
from azo.solver.host.kernels import ONE, ZERO, count, first, jit, legal_moves, play

NODES, LEAVES = 0, 1  # indices in `counters`

_OPEN = 1 << 20  # in place of a value: the moves of a position have to be searched
_INFINITE = 1 << 15
_FRAMES_A_PLY = 3  # a disc, a pass and a shallow search
_MAX_MOVES = 64
_TABLE_DEPTH = 2  # less deep positions are not stored
_ORDER_DEPTH = 3  # the moves of less deep positions are ordered without evaluations
_FIRST = 1 << 30  # a key above all others
_REPLY_KEY, _CORNER_KEY = 16, 64  # of each reply, of a corner that the opponent can take

_MOVES, _ABOVE, _BELOW = 0, 1, 2  # what a node searches: its moves, or a bound by a shallow search

ENTRY = np.dtype(
    {
        "names": ["player", "opponent", "lower", "upper", "move", "depth"],
        "formats": [np.uint64, np.uint64, np.int16, np.int16, np.uint8, np.uint8],
        "offsets": [0, 8, 16, 18, 20, 21],
        "itemsize": 32,
    },
    align=True,
)
_NODE = np.dtype(
    [
        ("player", np.uint64),
        ("opponent", np.uint64),
        ("alpha", np.int64),
        ("beta", np.int64),
        ("first_alpha", np.int64),  # at the start
        ("depth", np.int64),
        ("phase", np.int64),
        ("bound", np.int64),  # of the shallow search
        ("hint", np.int64),  # best move in the table
        ("num_moves", np.int64),
        ("index", np.int64),  # of the move being searched
        ("is_scout", np.int64),  # whether it is searched with a null window
        ("best_value", np.int64),
        ("best_move", np.int64),
    ]
)


class PatternSearch(NamedTuple):
    """Weights, cuts and memory of searches. A table belongs to one root."""

    rules: last_squares.SolverRules
    weights: np.ndarray  # [NUM_STAGES, NUM_ROWS] int16
    cuts: np.ndarray  # [NUM_STAGES, depths] deep.CUT; all zero for plain alpha-beta
    memory: np.ndarray  # table of bounds
    path: np.ndarray  # [levels] _NODE, from the root to the current position
    moves: np.ndarray  # [levels, _MAX_MOVES] deep.MOVE, of the positions on the path
    counters: np.ndarray  # [2] int64, nodes visited, and how many of them were evaluated


def make_search(
    weights: np.ndarray, cuts: np.ndarray, *, max_depth: int, log_rows: int
) -> PatternSearch:
    """Returns a search with an empty table of `2**log_rows` rows of two entries."""
    num_levels = _FRAMES_A_PLY * (max_depth + 2)
    return PatternSearch(
        rules=last_squares.make_rules(8, is_reversed=False),
        weights=weights,
        cuts=cuts,
        memory=table.make_table(1 << log_rows).view(ENTRY),
        path=np.zeros(num_levels, _NODE),
        moves=np.zeros((num_levels, _MAX_MOVES), deep.MOVE),
        counters=np.zeros(2, np.int64),
    )


@jit
def best_move(P, O, depth, search):
    """Returns the square of the best move of a position, and its value, by iterative deepening.

    The table has to be empty, or from an earlier search of the same position. From `depth` empty
    squares on, the value is the exact score.

    Args:
      P: discs of the side to move.
      O: discs of the opponent.
      depth: discs to place, at least 1.
      search: from `make_search` for at least this depth.

    Returns:
      The square's bit, `table.NO_MOVE` if there is no legal move; the value.
    """
    empties = search.rules.num_squares - count(P | O)
    value = np.int64(0)
    for shallow in range(1, max(min(depth, empties), 1) + 1):
        value = run(P, O, shallow, -_INFINITE, _INFINITE, search)
    return search.path[0].best_move, value


@jit
def run(P, O, depth, alpha, beta, search):
    """Returns the value of a position to a depth; a bound if it is not between alpha and beta.

    Arguments as for `best_move`; the depth may be 0.
    """
    # Numba changes the reference count of each array among the arguments at every call. So the
    # steps in the loop take the few arrays that they use instead of the whole search.
    rules, weights, cuts, memory = search.rules, search.weights, search.cuts, search.memory
    path, moves, counters = search.path, search.moves, search.counters
    level = 0
    _set(path[0], P, O, alpha, beta, depth)
    while True:
        counters[NODES] += 1
        value = _enter(path[level], moves[level], level, weights, cuts, memory, rules, counters)
        while value != _OPEN:
            if level == 0:
                return value
            level -= 1
            value = _take_value(path[level], moves[level], value, weights, memory, rules)
        _descend(path, moves, level, cuts, rules)
        level += 1


@jit
def _set(node, P, O, alpha, beta, depth):
    node.player, node.opponent, node.depth = P, O, depth
    node.alpha, node.beta, node.first_alpha = alpha, beta, alpha
    node.best_value, node.best_move = -_INFINITE, table.NO_MOVE
    node.hint, node.index, node.phase = table.NO_MOVE, -1, _MOVES


@jit
def _enter(node, moves, level, weights, cuts, memory, rules, counters):
    """Returns the value of a new position or a bound outside its window, or `_OPEN`."""
    P, O = node.player, node.opponent
    legal = legal_moves(P, O, rules.on_board)
    if legal == ZERO:
        replies = legal_moves(O, P, rules.on_board)
        if replies == ZERO:
            return evaluation.final_value(P, O, rules)
        if node.depth <= 0:
            counters[LEAVES] += 1
            return -evaluation.evaluate(O, P, replies, weights, rules)
        moves[0].player, moves[0].opponent, moves[0].square = O, P, table.NO_MOVE
        node.num_moves = 1
        return _OPEN
    if node.depth <= 0:
        counters[LEAVES] += 1
        return evaluation.evaluate(P, O, legal, weights, rules)
    if node.depth >= _TABLE_DEPTH:
        value = _known_bound(node, memory)
        if value != _OPEN and level > 0:
            return value
    if node.beta == node.alpha + 1 and level > 0:
        _try_cut(node, legal, weights, cuts, rules)
        if node.phase != _MOVES:
            return _OPEN
    _list_moves(node, legal, moves, weights, rules)
    return _OPEN


@jit
def _known_bound(node, memory):
    """Returns a stored bound outside the window, or `_OPEN`; takes over the stored move."""
    index = table.find(node.player, node.opponent, memory)
    if index == table.NOT_FOUND:
        return _OPEN
    entry = memory[index]
    node.hint = np.int64(entry.move)
    if entry.depth >= node.depth:
        if entry.lower >= node.beta or entry.lower == entry.upper:
            return np.int64(entry.lower)
        if entry.upper <= node.alpha:
            return np.int64(entry.upper)
    return _OPEN


@jit
def _try_cut(node, legal, weights, cuts, rules):
    """Chooses the bound that a shallow search may make likely.

    This is multi-ProbCut (Buro 1997). The static evaluation says on which side of the window to
    try.
    """
    P, O = node.player, node.opponent
    empties = rules.num_squares - count(P | O)
    if node.depth >= min(empties, cuts.shape[1]):
        return  # exact, or without a fit
    cut = cuts[evaluation.stage(empties), node.depth]
    if cut.depth == 0:
        return
    value = evaluation.evaluate(P, O, legal, weights, rules)
    if cut.slope * value + cut.offset > node.alpha:
        bound = np.int64(np.ceil((node.beta + cut.margin - cut.offset) / cut.slope))
        phase = _ABOVE
    else:
        bound = np.int64(np.floor((node.alpha - cut.margin - cut.offset) / cut.slope))
        phase = _BELOW
    if abs(bound) < evaluation.MAX_VALUE:
        node.bound, node.phase = bound, phase


@jit
def _list_moves(node, legal, moves, weights, rules):
    """Lists the moves of a position with their keys."""
    P, O, num = node.player, node.opponent, 0
    while legal:
        square = first(legal)
        legal &= legal - ONE
        move = moves[num]
        move.player, move.opponent = play(P, O, square)
        move.square = np.int64(square)
        if move.square == node.hint:
            move.key = _FIRST
        else:
            move.key = _key(move.player, move.opponent, node.depth, weights, rules)
        num += 1
    node.num_moves = num


@jit
def _key(child_P, child_O, depth, weights, rules):
    """Returns the priority of a move: high if it looks good, with few replies."""
    replies = legal_moves(child_P, child_O, rules.on_board)
    key = -_REPLY_KEY * count(replies) - _CORNER_KEY * count(replies & rules.corners)
    if depth >= _ORDER_DEPTH:
        if replies != ZERO:
            key -= evaluation.evaluate(child_P, child_O, replies, weights, rules)
        elif legal_moves(child_O, child_P, rules.on_board) == ZERO:
            key -= evaluation.final_value(child_P, child_O, rules)
        else:
            other = legal_moves(child_O, child_P, rules.on_board)
            key += evaluation.evaluate(child_O, child_P, other, weights, rules)
    return key


@jit
def _take_value(node, moves, value, weights, memory, rules):
    """Takes the value of the position below a node; returns the node's, or `_OPEN`."""
    if node.phase != _MOVES:
        phase, node.phase = node.phase, _MOVES
        if phase == _ABOVE and value >= node.bound:
            node.best_value = node.beta
            return _finish(node, memory)
        if phase == _BELOW and value <= node.bound:
            node.best_value = node.alpha
            return _finish(node, memory)
        legal = legal_moves(node.player, node.opponent, rules.on_board)
        _list_moves(node, legal, moves, weights, rules)
        return _OPEN
    value = -value
    if node.is_scout and node.alpha < value < node.beta:
        node.is_scout = 2  # once more, with the whole window
        return _OPEN
    if value > node.best_value:
        node.best_value, node.best_move = value, moves[node.index].square
        node.alpha = max(node.alpha, value)
    if node.best_value < node.beta and node.index + 1 < node.num_moves:
        return _OPEN
    return _finish(node, memory)


@jit
def _finish(node, memory):
    """Stores the value of a node and returns it."""
    value = node.best_value
    if node.depth < _TABLE_DEPTH:
        return value
    P, O = node.player, node.opponent
    lower, upper, move = -_INFINITE, _INFINITE - 1, node.best_move
    index = table.find(P, O, memory)
    if index != table.NOT_FOUND:
        entry = memory[index]
        if entry.depth > node.depth:
            return value
        if entry.depth == node.depth:
            lower, upper = np.int64(entry.lower), np.int64(entry.upper)
        if value <= node.first_alpha and entry.move != table.NO_MOVE:
            move = np.int64(entry.move)
    else:
        index = table.first_of_row(P, O, memory)
        if node.depth < memory[index].depth:
            index += 1
    if value > node.first_alpha:
        lower = max(lower, value)
    if value < node.beta:
        upper = min(upper, value)
    entry = memory[index]
    entry.player, entry.opponent, entry.depth = P, O, node.depth
    entry.lower, entry.upper, entry.move = lower, upper, move
    return value


@jit
def _descend(path, moves, level, cuts, rules):
    """Sets the next position below a node: after its next move, or itself for a shallow search."""
    node, child = path[level], path[level + 1]
    if node.phase != _MOVES:
        empties = rules.num_squares - count(node.player | node.opponent)
        depth = cuts[evaluation.stage(empties), node.depth].depth
        low = node.bound - 1 if node.phase == _ABOVE else node.bound
        _set(child, node.player, node.opponent, low, low + 1, depth)
        return
    if node.index >= 0 and node.is_scout == 2:
        node.is_scout = 0
    else:
        node.index += 1
        node.is_scout = np.int64(node.index > 0 and node.beta > node.alpha + 1)
        _bring_forward(moves[level], node.index, node.num_moves)
    move = moves[level, node.index]
    low = -node.alpha - 1 if node.is_scout else -node.beta
    depth = node.depth - (move.square != table.NO_MOVE)
    _set(child, move.player, move.opponent, low, -node.alpha, depth)


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
