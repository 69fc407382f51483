"""Alpha-beta with a table of bounds, above the last few empty squares; compiled by numba.

`run` finds whether the score of a position is above `alpha` (a null window). The search keeps its
path in `Search`, so it can pause after a number of nodes and continue later.
"""

from typing import NamedTuple

import numpy as np

from azo.games.host import host_rules
from azo.games.host.kernels import (
    ONE,
    ZERO,
    count,
    first,
    jit,
    legal_moves,
    num_liberties,
    play,
    stable_discs,
)
from azo.solver.host import fixed_depth, last_squares, probcut, table
from azo.solver.host.last_squares import INFINITE, NODES

FEW = 7  # with at most this many empty squares, `last_squares` is faster
UNFINISHED = 126  # above all scores: the search has paused
LEVEL = 1  # index in `counters`, after NODES: the place in the path where the search continues

_OPEN = -INFINITE  # in place of a score: the moves of a position have to be searched
_NUM_LEVELS = 130  # squares, and a pass before each
_SHALLOW_FROM = 15  # empty squares; with more, a shallow search helps to order the moves
_SHALLOW_DEPTH = 1
_SHALLOW_WEIGHT = 16  # of a disc in the key of a move
_FIRST = 1 << 30  # a key above all others

_NODE = np.dtype(
    [
        ("player", np.uint64),
        ("opponent", np.uint64),
        ("alpha", np.int64),
        ("empties", np.int64),
        ("num_moves", np.int64),  # not yet searched
        ("move", np.int64),  # being searched; the table's best move, before the first
        ("best_score", np.int64),
        ("best_move", np.int64),
    ]
)
MOVE = np.dtype(
    [
        ("player", np.uint64),  # of the position after the move
        ("opponent", np.uint64),
        ("square", np.int64),  # table.NO_MOVE for a pass
        ("key", np.int64),  # the move with the highest is searched first
    ]
)


class Search(NamedTuple):
    """The state of one search. A table of bounds belongs to one board and variant."""

    rules: host_rules.HostRules
    evaluator: probcut.LinearEvaluator  # zero weights on boards without a fit
    memory: np.ndarray  # table of bounds
    path: np.ndarray  # [_NUM_LEVELS] _NODE, from the root to the current position
    moves: np.ndarray  # [_NUM_LEVELS, 64] MOVE, of the positions on the path
    last_stack: np.ndarray  # memory for `last_squares.few`
    shallow_path: np.ndarray  # memory for `fixed_depth.search`
    counters: np.ndarray  # [2] int64: nodes visited, and the level of the current position


def make_search(rules: host_rules.HostRules, evaluator: probcut.LinearEvaluator) -> Search:
    """Returns the state of a search with a small table."""
    return Search(
        rules=rules,
        evaluator=evaluator,
        memory=table.make_table(1),
        path=np.zeros(_NUM_LEVELS, _NODE),
        moves=np.zeros((_NUM_LEVELS, 64), MOVE),
        last_stack=last_squares.make_stack(),
        shallow_path=fixed_depth.make_path(_SHALLOW_DEPTH),
        counters=np.zeros(2, np.int64),
    )


@jit
def start(search, P, O, alpha, empties):
    """Makes a position with a legal move the root of the next `run`."""
    search.counters[LEVEL] = 0
    _set(search.path[0], P, O, alpha, empties)


@jit
def run(search, max_nodes):
    """Searches whether the score of the root is above `alpha`, after `start` or a pause.

    Returns a lower bound of the score if it is above alpha, else an upper bound. As soon as
    `counters[NODES]` is `max_nodes` or more, the search pauses: `UNFINISHED`.
    """
    # Numba changes the reference count of each array among the arguments at every call. So the
    # steps in the loop take the few arrays that they use instead of the whole search.
    rules, memory, counters = search.rules, search.memory, search.counters
    path, moves, last_stack = search.path, search.moves, search.last_stack
    evaluator, shallow_path = search.evaluator, search.shallow_path
    level = counters[LEVEL]
    while True:
        node = path[level]
        P, O, alpha, empties = node.player, node.opponent, node.alpha, node.empties
        if empties <= FEW and level > 0:
            score = last_squares.few(P, O, alpha, empties, rules, last_stack, counters)
        elif counters[NODES] >= max_nodes:
            counters[LEVEL] = level
            return UNFINISHED
        else:
            counters[NODES] += 1
            score = _enter(node, memory, rules)
            if score == _OPEN:
                score = _expand(node, moves[level], memory, rules, evaluator, shallow_path)
        while score != _OPEN:
            if level == 0:
                return score
            level -= 1
            score = _take_score(path[level], -score, memory)
        _descend(path, moves, level)
        level += 1


@jit
def _set(node, P, O, alpha, empties):
    node.player, node.opponent, node.alpha, node.empties = P, O, alpha, empties


@jit
def _enter(node, memory, rules):
    """Returns a bound on alpha's side of a new position's score, or `_OPEN` if none is known."""
    node.best_score, node.best_move = -INFINITE, table.NO_MOVE
    node.num_moves, node.move = 1, table.NO_MOVE
    entry, alpha = table.find(node.player, node.opponent, memory), node.alpha
    if entry != table.NOT_FOUND:
        if memory[entry].lower > alpha:
            return np.int64(memory[entry].lower)
        if memory[entry].upper <= alpha:
            return np.int64(memory[entry].upper)
        node.move = np.int64(memory[entry].move)
    return _stable_bound(node.player, node.opponent, alpha, node.empties, rules)


@jit
def _expand(node, moves, memory, rules, evaluator, shallow_path):
    """Returns a bound on alpha's side after one ply, else lists the moves: `_OPEN`."""
    P, O, alpha = node.player, node.opponent, node.alpha
    num_moves = _list_moves(P, O, node.move, moves, rules)
    if num_moves == 0:
        if not legal_moves(O, P, rules.on_board):
            return host_rules.final_score(P, O, rules)
        moves[0].player, moves[0].opponent, moves[0].square = O, P, table.NO_MOVE
        return _OPEN
    for i in range(num_moves):
        entry = table.find(moves[i].player, moves[i].opponent, memory)
        if entry != table.NOT_FOUND and -memory[entry].upper > alpha:
            score = -np.int64(memory[entry].upper)
            table.store(P, O, memory, score, alpha, alpha + 1, moves[i].square, node.empties)
            return score
    node.num_moves = num_moves
    if node.empties >= _SHALLOW_FROM and evaluator.weights[node.empties, 1] != 0:
        _order_by_estimate(moves[:num_moves], evaluator, rules, shallow_path)
    return _OPEN


@jit
def _take_score(node, score, memory):
    """Returns the score of a node if that of its move settles it, else `_OPEN`."""
    if score > node.best_score:
        node.best_score, node.best_move = score, node.move
    if node.best_score <= node.alpha and node.num_moves > 0:
        return _OPEN
    P, O, alpha, score = node.player, node.opponent, node.alpha, node.best_score
    table.store(P, O, memory, score, alpha, alpha + 1, node.best_move, node.empties)
    return score


@jit
def _descend(path, moves, level):
    """Plays the move of a node with the highest key, and removes it from the list."""
    node, chosen = path[level], 0
    for i in range(1, node.num_moves):
        if moves[level, i].key > moves[level, chosen].key:
            chosen = i
    move = moves[level, chosen]
    node.move = move.square
    empties = node.empties - (move.square != table.NO_MOVE)
    _set(path[level + 1], move.player, move.opponent, -node.alpha - 1, empties)
    node.num_moves -= 1
    moves[level, chosen] = moves[level, node.num_moves]


@jit
def _list_moves(P, O, hint, moves, rules):
    """Writes the moves of a position to `moves` and returns their number; `hint` comes first."""
    legal = legal_moves(P, O, rules.on_board)
    odd = last_squares.odd_quadrants(rules.on_board & ~(P | O), rules)
    num = 0
    while legal:
        square = first(legal)
        legal &= legal - ONE
        move = moves[num]
        move.player, move.opponent = play(P, O, square)
        move.square = np.int64(square)
        if move.player == ZERO:
            move.key = _FIRST + 1
        elif move.square == hint:
            move.key = _FIRST
        else:
            move.key = _key(square, move.player, move.opponent, odd, rules)
        num += 1
    return num


@jit
def _order_by_estimate(moves, evaluator, rules, shallow_path):
    """Adds what a shallow search expects of each move to its key."""
    for move in moves:
        if move.key < _FIRST:
            P, O = move.player, move.opponent
            value, _ = fixed_depth.search(
                P, O, _SHALLOW_DEPTH, -np.inf, np.inf, 0, evaluator, rules, shallow_path
            )
            move.key -= np.int64(_SHALLOW_WEIGHT * value)


@jit
def _key(square, child_P, child_O, odd, rules):
    """Returns the priority of a move: high if the opponent has few replies, now and later.

    These weights needed the fewest nodes for the FFO positions with 17 to 22 empty squares.
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
def _stable_bound(P, O, alpha, empties, rules):
    """Returns an upper bound of the score if stable discs keep it from being above alpha."""
    if alpha < 2 * (empties - 4):  # there are seldom so many stable discs
        return _OPEN
    theirs, ours = (O, P) if rules.sign > 0 else (P, O)
    bound = rules.num_squares - 2 * count(stable_discs(theirs, ours, rules.on_board))
    return bound if bound <= alpha else _OPEN
