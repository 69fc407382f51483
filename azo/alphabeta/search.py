"""Principal variation search with a table and ProbCut, compiled by numba.

Depth counts placed discs: a pass uses up none, so all evaluated positions of a search have equally
many empty squares. Finished games have their score. Values are seen by the side to move, in units
of `1 / evaluation.UNIT` discs.
"""

from typing import NamedTuple

import numpy as np

from azo.alphabeta import evaluation
from azo.games.host import host_rules
from azo.games.host.kernels import ONE, ZERO, count, first, flips, jit, legal_moves
from azo.solver.host import last_squares, table

# Indices in `counters`. From outside, 1 at `IS_STOPPED` ends a search in another thread.
NODES, BEST_MOVE, LIMIT, IS_STOPPED, DEPTH, VALUE = range(6)
INFINITE = 1 << 15
MAX_MOVES = 34
MAX_DEPTH = 60
NUM_CUTS = 2  # shallow searches per depth
MAX_CUT_DEPTH = 24
_FRAMES_PER_PLY = 3  # a disc, a pass and a shallow search
_LEAST_END = 10  # empty squares from which on searches to the end have cuts
_END_FACTOR = 1.5  # of the margin for them
_TABLE_DEPTH = 3  # less deep positions are not stored
_FEW = 7  # with at most this many empty squares, `last_squares` finds scores faster
_LAST_NODES = 4  # of its positions take about as long as one of these searches
_ORDER_DEPTH = 3  # the moves of less deep positions are ordered without evaluations
_FIRST = 1 << 30  # a key above all others
_REPLY_KEY, _CORNER_KEY = 16, 64  # of each reply, of a corner that the opponent can take

MOVE = np.dtype(
    [
        ("player", np.uint64),
        ("opponent", np.uint64),
        ("square", np.int64),
        ("key", np.int64),
        ("replies", np.uint64),
        ("turned", np.uint64),
    ]
)
CUT = np.dtype(
    [
        ("depth", np.int64),  # of the shallow search; negative for none
        ("slope", np.float64),
        ("offset", np.float64),
        ("deviation", np.float64),
    ]
)


class AlphaBetaSearch(NamedTuple):
    """Weights, cuts and memory of searches. A table belongs to one root."""

    rules: host_rules.HostRules
    weights: np.ndarray  # [NUM_STAGES, NUM_ROWS] int16
    cuts: np.ndarray  # [NUM_STAGES, MAX_CUT_DEPTH + 1, NUM_CUTS] CUT
    memory: np.ndarray  # table of bounds
    moves: np.ndarray  # [levels, MAX_MOVES] MOVE, from the root to the current position
    contents: np.ndarray  # [levels + 2, 2 * NUM_WORDS] uint64; room, and the root's at the end
    rows: np.ndarray  # [3, NUM_WORDS] uint64, room
    counters: np.ndarray  # [6] int64
    last_stack: np.ndarray  # room for `last_squares.few`
    last_nodes: np.ndarray  # [1] int64, counted by it
    factor: np.ndarray  # [2] float64, deviations to a margin: of values, and of scores


def make_search(
    weights: np.ndarray, cuts: np.ndarray, *, log_rows: int, factor: float = 1.0
) -> AlphaBetaSearch:
    """Returns a search with an empty table of `2**log_rows` rows of two entries.

    `factor` is the number of deviations that make the margin of a cut.
    """
    num_levels = _FRAMES_PER_PLY * (MAX_DEPTH + 2)
    return AlphaBetaSearch(
        rules=host_rules.make_rules(8, is_reversed=False),
        weights=weights,
        cuts=cuts,
        memory=table.make_table(1 << log_rows),
        moves=np.zeros((num_levels, MAX_MOVES), MOVE),
        contents=np.zeros((num_levels + 2, 2 * evaluation.NUM_WORDS), np.uint64),
        rows=np.zeros((3, evaluation.NUM_WORDS), np.uint64),
        counters=np.zeros(6, np.int64),
        last_stack=last_squares.make_stack(),
        last_nodes=np.zeros(1, np.int64),
        factor=np.array([factor, _END_FACTOR * factor]),
    )


def no_cuts() -> np.ndarray:
    """Returns cuts of plain alpha-beta."""
    cuts = np.zeros((evaluation.NUM_STAGES, MAX_CUT_DEPTH + 1, NUM_CUTS), CUT)
    cuts["depth"] = -1
    return cuts


@jit
def deepen(P, O, max_depth, search):
    """Searches a position with a legal move by iterative deepening, until it is stopped.

    It ends at `max_depth` discs, at most all that are left, after `counters[LIMIT]` nodes, or when
    `counters[IS_STOPPED]` is set. Then `counters` hold the best move, the depth that was completed,
    and the value at it. The table has to be empty, or from an earlier search of the same position.
    """
    counters = search.counters
    empties = search.rules.num_squares - count(P | O)
    counters[NODES] = counters[DEPTH] = counters[VALUE] = 0
    counters[BEST_MOVE] = np.int64(first(legal_moves(P, O, search.rules.on_board)))
    for depth in range(1, min(max_depth, empties) + 1):
        value = run(P, O, depth, -INFINITE, INFINITE, search)
        if counters[IS_STOPPED]:
            break
        counters[DEPTH], counters[VALUE] = depth, value


@jit
def best_move(P, O, depth, search):
    """Returns the square of the best move of a position, and its value, by iterative deepening."""
    search.counters[LIMIT], search.counters[IS_STOPPED] = 1 << 60, 0
    deepen(P, O, depth, search)
    return search.counters[BEST_MOVE], search.counters[VALUE]


@jit
def run(P, O, depth, alpha, beta, search):
    """Returns the value of a position to a depth; a bound if it is not between alpha and beta."""
    # The types have to be those of the recursive calls: numba's cache cannot load a function that
    # calls another version of itself. Plain constants have other types.
    place = np.int64(len(search.contents) - 1)
    evaluation.set_contents(P, O, search.contents[place])
    limits = np.int64(depth), np.int64(alpha), np.int64(beta)
    legal = legal_moves(P, O, search.rules.on_board)
    return _search(P, O, legal, place, *limits, np.int64(0), search)


@jit
def static_value(P, O, legal, place, search):
    """Returns the value of any position: after a pass if it is forced, or final."""
    replies = legal_moves(O, P, search.rules.on_board)
    empties = search.rules.num_squares - count(P | O)
    rows = search.rows[0]
    if legal:
        evaluation.rows_of(search.contents[place], rows)
        return evaluation.evaluate(rows, count(legal), count(replies), empties, search.weights)
    if replies:
        evaluation.rows_after(search.contents[place], rows)
        return -evaluation.evaluate(rows, count(replies), 0, empties, search.weights)
    return evaluation.UNIT * host_rules.final_score(P, O, search.rules)


@jit
def _frontier(P, O, legal, place, alpha, beta, search):
    """Returns the value of a position with legal moves to a depth of one disc."""
    rules, before, rows = search.rules, search.rows[1], search.rows[2]
    evaluation.rows_after(search.contents[place], before)
    empties = rules.num_squares - count(P | O) - 1
    best_value = np.int64(-INFINITE)
    corners = legal & rules.corners
    rest = legal ^ corners
    while corners | rest:
        if corners:
            square = first(corners)
            corners &= corners - ONE
        else:
            square = first(rest)
            rest &= rest - ONE
        search.counters[NODES] += 1
        turned = flips(P, O, square)
        child_P, child_O = O ^ turned, P | turned | (ONE << square)
        replies = legal_moves(child_P, child_O, rules.on_board)
        own = legal_moves(child_O, child_P, rules.on_board)
        if replies:
            evaluation.move_rows(before, square, turned, rows)
            value = -evaluation.evaluate(rows, count(replies), count(own), empties, search.weights)
        elif own:  # after a pass it is the same side's turn
            evaluation.set_contents(child_O, child_P, search.contents[-2])
            evaluation.rows_of(search.contents[-2], rows)
            value = evaluation.evaluate(rows, count(own), 0, empties, search.weights)
        else:
            value = -evaluation.UNIT * host_rules.final_score(child_P, child_O, rules)
        if value > best_value:
            best_value = value
            if value >= beta:
                break
    return best_value


@jit
def _search(P, O, legal, place, depth, alpha, beta, level, search):
    """Does the work of `run` for a position `level` calls below the root."""
    rules, memory = search.rules, search.memory
    counters = search.counters
    counters[NODES] += 1
    if depth <= 0:
        return static_value(P, O, legal, place, search)
    moves, num_moves, hint = search.moves[level], 1, table.NO_MOVE
    if legal == ZERO:
        replies = legal_moves(O, P, rules.on_board)
        if replies == ZERO:
            return evaluation.UNIT * host_rules.final_score(P, O, rules)
        moves[0].player, moves[0].opponent, moves[0].square = O, P, table.NO_MOVE
        moves[0].replies = replies
        evaluation.pass_contents(search.contents[place], search.contents[level])
    else:
        if depth <= _FEW and beta == alpha + 1 and level > 0:
            empties = rules.num_squares - count(P | O)
            if depth >= empties:
                return _score(P, O, alpha, empties, search)
        if depth == 1 and level > 0:
            return _frontier(P, O, legal, place, alpha, beta, search)
        if counters[NODES] >= counters[LIMIT] or counters[IS_STOPPED]:
            counters[IS_STOPPED] = 1
            return np.int64(0)
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
            empties = rules.num_squares - count(P | O)
            cuts = search.cuts[evaluation.stage(empties), min(depth, MAX_CUT_DEPTH)]
            is_end = depth >= empties  # these have scores, and deviate more
            if cuts[0].depth >= 0 and (not is_end or depth >= _LEAST_END):
                static = static_value(P, O, legal, place, search)
                for number in range(NUM_CUTS):
                    shallow, bound, is_above = _likely_cut(
                        cuts[number], static, alpha, beta, search.factor[np.int64(is_end)]
                    )
                    if shallow < 0:
                        continue
                    value = static
                    if shallow > 0:
                        low = bound - is_above
                        value = _search(
                            P, O, legal, place, shallow, low, low + 1, level + 1, search
                        )
                    if counters[IS_STOPPED]:
                        return np.int64(0)
                    if value >= bound if is_above else value <= bound:
                        value = beta if is_above else alpha
                        if depth >= _TABLE_DEPTH:
                            table.store(P, O, memory, value, alpha, beta, hint, depth)
                        return value
        num_moves = _list_moves(P, O, place, depth, legal, hint, level, search)

    first_alpha, best_value, chosen = alpha, np.int64(-INFINITE), table.NO_MOVE
    for index in range(num_moves):
        _bring_forward(moves, index, num_moves)
        move = moves[index]
        below = depth - (move.square != table.NO_MOVE)
        is_scout = index > 0 and beta > alpha + 1
        low = -alpha - 1 if is_scout else -beta
        child_P, child_O, replies = move.player, move.opponent, move.replies
        at = np.int64(level)
        if move.square != table.NO_MOVE:
            evaluation.move_contents(
                search.contents[place], np.uint64(move.square), move.turned, search.contents[at]
            )
        value = -_search(child_P, child_O, replies, at, below, low, -alpha, level + 1, search)
        if is_scout and alpha < value < beta:
            value = -_search(child_P, child_O, replies, at, below, -beta, -alpha, level + 1, search)
        if counters[IS_STOPPED]:
            return np.int64(0)
        if value > best_value:
            best_value, chosen = value, move.square
            alpha = max(alpha, value)
            if level == 0:
                counters[BEST_MOVE] = chosen
        if best_value >= beta:
            break
    if depth >= _TABLE_DEPTH:
        table.store(P, O, memory, best_value, first_alpha, beta, chosen, depth)
    return best_value


@jit
def _score(P, O, alpha, empties, search):
    """Returns a bound of the score: from below if it is above alpha, otherwise from above."""
    search.last_nodes[0] = 0
    discs = np.int64(alpha // evaluation.UNIT)
    score = last_squares.few(
        P, O, discs, empties, search.rules, search.last_stack, search.last_nodes
    )
    search.counters[NODES] += search.last_nodes[0] // _LAST_NODES
    return np.int64(evaluation.UNIT * score)


@jit
def _likely_cut(cut, static, alpha, beta, factor):
    """Returns the depth of a shallow search, negative for none, and the bound that it may reach.

    The third result says whether the bound is one from below (Buro, "Experiments with
    Multi-ProbCut and a new high-quality evaluation function for Othello", 1997). The static value
    says on which side of the window to try.
    """
    if cut.depth < 0:
        return np.int64(-1), np.int64(0), False
    margin = cut.deviation * factor
    is_above = cut.slope * static + cut.offset > alpha
    score = beta + margin if is_above else alpha - margin
    threshold = (score - cut.offset) / cut.slope
    bound = np.int64(np.ceil(threshold) if is_above else np.floor(threshold))
    return cut.depth if abs(bound) < evaluation.MAX_VALUE else np.int64(-1), bound, is_above


@jit
def _list_moves(P, O, place, depth, legal, hint, level, search):
    """Lists the moves of a position with their keys and contents; returns how many there are."""
    rules, moves, num = search.rules, search.moves[level], 0
    before, rows = search.rows[1], search.rows[2]
    empties = rules.num_squares - count(P | O) - 1
    if depth >= _ORDER_DEPTH:
        evaluation.rows_after(search.contents[place], before)
    while legal:
        square = first(legal)
        legal &= legal - ONE
        move = moves[num]
        turned = flips(P, O, square)
        child_P, child_O = O ^ turned, P | turned | (ONE << square)
        replies = legal_moves(child_P, child_O, rules.on_board)
        move.player, move.opponent, move.square = child_P, child_O, np.int64(square)
        move.replies, move.turned = replies, turned
        if move.square == hint:
            move.key = _FIRST
        else:
            key = -_REPLY_KEY * count(replies) - _CORNER_KEY * count(replies & rules.corners)
            if depth >= _ORDER_DEPTH and replies:
                own = legal_moves(child_O, child_P, rules.on_board)
                evaluation.move_rows(before, square, turned, rows)
                key -= evaluation.evaluate(
                    rows, count(replies), count(own), empties, search.weights
                )
            move.key = key
        num += 1
    return num


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
        move.turned, other.turned = other.turned, move.turned
        move.replies, other.replies = other.replies, move.replies
