"""The tree of one live game on the host: PUCT with virtual loss, compiled by numba.

The batched search of `azo.search` runs many games side by side on the device. For one game the host
descends the tree, and the device only evaluates batches of leaves: `gather` fills a batch, `expand`
takes its predictions. Meanwhile each pending path counts as a visit, and as a loss by the setting
`virtual_loss`, so that the next path differs.

Nodes and edges are rows of arrays. A node's value is for the side to move there. Moves are selected
as in `azo.search.selection.puct_action`. Leaves that are finished, solved or cached need no network
and are backed up at once.
"""

from typing import NamedTuple

import numpy as np

from azo.play import host_position
from azo.solver.host import last_squares
from azo.solver.host.kernels import ONE, ZERO, count, first, jit, legal_moves

NEW, WAITING, OPEN, DONE = 0, 1, 2, 3  # not evaluated; in a batch; with edges; exact result
MAX_DEPTH = 128  # no game has more plies
_UNVISITED = -1
_MAX_EDGES = 56  # no position has more moves, see `Othello.max_legal`

_EDGE_FIELDS = ("action", "prior", "child")
# Indices of `LiveTree.counts`.
NODES, EDGES = 0, 1


class LiveTree(NamedTuple):
    """Nodes, the first of them the root, and edges: room for `N` and `E` of them."""

    player: np.ndarray  # [N] uint64
    opponent: np.ndarray  # [N] uint64
    state: np.ndarray  # [N] int8, NEW, WAITING, OPEN or DONE
    visits: np.ndarray  # [N] int32
    virtual: np.ndarray  # [N] int32, pending paths through the node
    value_sum: np.ndarray  # [N] float64, over the visits, for the side to move
    raw_value: np.ndarray  # [N] float32, the network's value, or the result
    first_edge: np.ndarray  # [N] int32
    num_edges: np.ndarray  # [N] int16
    action: np.ndarray  # [E] int8
    prior: np.ndarray  # [E] float32
    child: np.ndarray  # [E] int32, -1 before the first visit
    counts: np.ndarray  # [2] int64: nodes and edges


class EvaluationCache(NamedTuple):
    """Predictions for canonical positions; a new position overwrites its row."""

    player: np.ndarray  # [R] uint64, all ones where a row is empty
    opponent: np.ndarray  # [R] uint64
    logits: np.ndarray  # [R, A] float32
    value: np.ndarray  # [R] float32


class SearchRules(NamedTuple):
    """The rules of the game and the settings of the search."""

    board: last_squares.SolverRules
    size: int
    c_puct: float
    virtual_loss: float
    temperature: float  # of the prior
    exact_empties: int


class LeafBatch(NamedTuple):
    """Up to `L` leaves for the network, each with its path."""

    player: np.ndarray  # [L] uint64, in the form that the network evaluates
    opponent: np.ndarray  # [L] uint64
    symmetry: np.ndarray  # [L] int64, from the node's position to this form
    path: np.ndarray  # [L, MAX_DEPTH] int32, nodes from the root to the leaf
    length: np.ndarray  # [L] int64


def make_tree(
    player: int, opponent: int, num_nodes: int = 1024, num_edges: int = 16384
) -> LiveTree:
    """Returns a tree with only a root."""
    tree = LiveTree(
        player=np.zeros(num_nodes, np.uint64),
        opponent=np.zeros(num_nodes, np.uint64),
        state=np.zeros(num_nodes, np.int8),
        visits=np.zeros(num_nodes, np.int32),
        virtual=np.zeros(num_nodes, np.int32),
        value_sum=np.zeros(num_nodes),
        raw_value=np.zeros(num_nodes, np.float32),
        first_edge=np.zeros(num_nodes, np.int32),
        num_edges=np.zeros(num_nodes, np.int16),
        action=np.zeros(num_edges, np.int8),
        prior=np.zeros(num_edges, np.float32),
        child=np.zeros(num_edges, np.int32),
        counts=np.zeros(2, np.int64),
    )
    tree.player[0], tree.opponent[0] = player, opponent
    tree.counts[NODES] = 1
    return tree


def with_room(tree: LiveTree, num_more: int) -> LiveTree:
    """Returns the tree with room for `num_more` more nodes and their edges."""
    nodes, edges = int(tree.counts[NODES]) + num_more, int(tree.counts[EDGES])
    edges += num_more * _MAX_EDGES
    if nodes <= len(tree.player) and edges <= len(tree.action):
        return tree

    def grown(array: np.ndarray, num_rows: int) -> np.ndarray:
        if len(array) >= num_rows:
            return array
        more = np.zeros(max(num_rows, 2 * len(array)), array.dtype)
        more[: len(array)] = array
        return more

    num_rows = dict.fromkeys(tree._fields, nodes) | dict.fromkeys(_EDGE_FIELDS, edges)
    num_rows["counts"] = len(tree.counts)
    return LiveTree(*(grown(getattr(tree, name), num_rows[name]) for name in tree._fields))


def make_cache(num_rows: int, num_actions: int) -> EvaluationCache:
    """Returns an empty cache; the number of rows is a power of 2, or 0 for no cache."""
    return EvaluationCache(
        player=np.full(num_rows, ~ZERO),
        opponent=np.full(num_rows, ~ZERO),
        logits=np.zeros((num_rows, num_actions), np.float32),
        value=np.zeros(num_rows, np.float32),
    )


def make_batch(num_leaves: int) -> LeafBatch:
    """Returns an empty batch for `num_leaves` leaves."""
    return LeafBatch(
        player=np.zeros(num_leaves, np.uint64),
        opponent=np.zeros(num_leaves, np.uint64),
        symmetry=np.zeros(num_leaves, np.int64),
        path=np.zeros((num_leaves, MAX_DEPTH), np.int32),
        length=np.zeros(num_leaves, np.int64),
    )


@jit
def gather(tree, batch, cache, rules, budget, stack, counters):
    """Fills a batch: descends until it is full, a leaf is reached twice, or the budget is used.

    Returns the number of leaves in the batch, and of simulations completed without the network.
    `stack` and `counters` are work space for the solver of leaves.
    """
    num_waiting, num_done = 0, 0
    while num_waiting < len(batch.length) and num_waiting + num_done < budget:
        path = batch.path[num_waiting]
        length = _descend(tree, path, rules, stack, counters)
        node = path[length - 1]
        if tree.state[node] == WAITING:
            break
        if tree.state[node] == NEW and not _open_from_cache(
            tree, node, batch, num_waiting, cache, rules
        ):
            batch.length[num_waiting] = length
            tree.state[node] = WAITING
            for i in range(length):
                tree.virtual[path[i]] += 1
            num_waiting += 1
            continue
        _back_up(tree, path, length)
        num_done += 1
    return num_waiting, num_done


@jit
def expand(tree, batch, num_waiting, predictions, cache, rules):
    """Opens the leaves of a batch, and backs up their values.

    `predictions` is `[L, A + 1]` float32: the logits, then the value.
    """
    for leaf in range(num_waiting):
        path, length = batch.path[leaf], batch.length[leaf]
        node = path[length - 1]
        logits, value = predictions[leaf, :-1], predictions[leaf, -1]
        if len(cache.value):
            row = _row(batch.player[leaf], batch.opponent[leaf], len(cache.value))
            cache.player[row], cache.opponent[row] = batch.player[leaf], batch.opponent[leaf]
            cache.logits[row] = logits
            cache.value[row] = value
        _open(tree, node, logits, value, batch.symmetry[leaf], rules)
        for i in range(length):
            tree.virtual[path[i]] -= 1
        _back_up(tree, path, length)


@jit
def _descend(tree, path, rules, stack, counters):
    """Writes the nodes of a path, and returns its length; the last node is not open."""
    node, length = 0, 1
    path[0] = 0
    while tree.state[node] == OPEN:
        edge = _best_edge(tree, node, rules)
        child = tree.child[edge]
        if child == _UNVISITED:
            child = _add_node(tree, node, tree.action[edge], rules, stack, counters)
            tree.child[edge] = child
        node = child
        path[length] = node
        length += 1
    return length


@jit
def _best_edge(tree, node, rules):
    begin = tree.first_edge[node]
    unvisited = tree.value_sum[node] / tree.visits[node]
    explore = rules.c_puct * np.sqrt(tree.visits[node] + tree.virtual[node])
    best, best_score = begin, -np.inf
    for edge in range(begin, begin + tree.num_edges[node]):
        child = tree.child[edge]
        visits, q = 0, unvisited
        if child != _UNVISITED:
            # Pending paths count as visits, and as `virtual_loss` losses in the value.
            lost = rules.virtual_loss * tree.virtual[child]
            if tree.visits[child] + lost > 0:
                q = -(tree.value_sum[child] + lost) / (tree.visits[child] + lost)
            visits = tree.visits[child] + tree.virtual[child]
        score = q + explore * tree.prior[edge] / (1 + visits)
        if score > best_score:
            best, best_score = edge, score
    return best


@jit
def _add_node(tree, parent, action, rules, stack, counters):
    """Returns the new child node of an action; it is DONE if the result is exact."""
    P, O = host_position.after(tree.player[parent], tree.opponent[parent], action, rules.size)
    node = tree.counts[NODES]
    tree.counts[NODES] += 1
    tree.player[node], tree.opponent[node] = P, O
    tree.state[node], tree.visits[node], tree.virtual[node] = NEW, 0, 0
    tree.value_sum[node] = 0
    board = rules.board
    empties = board.num_squares - count(P | O)
    if not legal_moves(P, O, board.on_board) and not legal_moves(O, P, board.on_board):
        tree.state[node] = DONE
        tree.raw_value[node] = np.sign(last_squares.final_score(P, O, board))
    elif empties <= rules.exact_empties:
        tree.state[node] = DONE
        tree.raw_value[node] = _result(P, O, empties, board, stack, counters)
    return node


@jit
def _result(P, O, empties, board, stack, counters):
    """Returns 1, 0 or -1 under perfect play."""
    if last_squares.few(P, O, 0, empties, board, stack, counters) > 0:
        return 1
    return 0 if last_squares.few(P, O, -1, empties, board, stack, counters) > -1 else -1


@jit
def _open_from_cache(tree, node, batch, leaf, cache, rules):
    """Opens a node by its cached prediction; without one, adds it to the batch, returns False."""
    P, O, symmetry = tree.player[node], tree.opponent[node], 0
    if len(cache.value):
        P, O, symmetry = host_position.canonical(P, O, rules.size)
        row = _row(P, O, len(cache.value))
        if cache.player[row] == P and cache.opponent[row] == O:
            _open(tree, node, cache.logits[row], cache.value[row], symmetry, rules)
            return True
    batch.player[leaf], batch.opponent[leaf] = P, O
    batch.symmetry[leaf] = symmetry
    return False


@jit
def _open(tree, node, logits, value, symmetry, rules):
    """Adds a node's edges, one for each legal move."""
    begin = tree.counts[EDGES]
    num = 0
    legal = legal_moves(tree.player[node], tree.opponent[node], rules.board.on_board)
    if not legal:
        tree.action[begin] = rules.size * rules.size
        num = 1
    while legal:
        square = np.int64(first(legal))
        legal &= legal - ONE
        tree.action[begin + num] = square // 8 * rules.size + square % 8
        num += 1
    highest = -np.inf
    for edge in range(begin, begin + num):
        turned = host_position.turned_action(np.int64(tree.action[edge]), symmetry, rules.size)
        tree.prior[edge] = logits[turned] / rules.temperature
        tree.child[edge] = _UNVISITED
        highest = max(highest, tree.prior[edge])
    total = 0.0
    for edge in range(begin, begin + num):
        tree.prior[edge] = np.exp(tree.prior[edge] - highest)
        total += tree.prior[edge]
    for edge in range(begin, begin + num):
        tree.prior[edge] /= total
    tree.counts[EDGES] += num
    tree.first_edge[node], tree.num_edges[node] = begin, num
    tree.raw_value[node] = value
    tree.state[node] = OPEN


@jit
def _back_up(tree, path, length):
    value = np.float64(tree.raw_value[path[length - 1]])
    for i in range(length - 1, -1, -1):
        tree.visits[path[i]] += 1
        tree.value_sum[path[i]] += value
        value = -value


@jit
def _row(P, O, num_rows):
    mixed = P * np.uint64(0x9E3779B97F4A7C15) ^ O * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.int64((mixed >> np.uint64(32)) & np.uint64(num_rows - 1))


def subtree(tree: LiveTree, root: int) -> LiveTree:
    """Returns the subtree of a node as a tree of its own."""
    copy = make_tree(0, 0, *(int(number) for number in tree.counts))
    _copy(tree, root, copy)
    return copy


@jit
def _copy(tree, root, into):
    into.counts[:] = 0
    # Breadth first; `source` holds each new node's index in the old tree.
    source = np.empty(tree.counts[NODES], np.int32)
    source[0] = root
    num_nodes, done = 1, 0
    while done < num_nodes:
        old = source[done]
        into.player[done], into.opponent[done] = tree.player[old], tree.opponent[old]
        into.state[done], into.visits[done] = tree.state[old], tree.visits[old]
        into.virtual[done], into.value_sum[done] = 0, tree.value_sum[old]
        into.raw_value[done] = tree.raw_value[old]
        begin = into.counts[EDGES]
        into.first_edge[done], into.num_edges[done] = begin, tree.num_edges[old]
        for i in range(tree.num_edges[old]):
            edge = tree.first_edge[old] + i
            into.action[begin + i], into.prior[begin + i] = tree.action[edge], tree.prior[edge]
            into.child[begin + i] = _UNVISITED
            if tree.child[edge] != _UNVISITED:
                source[num_nodes] = tree.child[edge]
                into.child[begin + i] = num_nodes
                num_nodes += 1
        into.counts[EDGES] += tree.num_edges[old]
        done += 1
    into.counts[NODES] = num_nodes
