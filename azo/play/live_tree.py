"""The tree of one live game on the host: nodes and edges as rows of arrays.

A node's value, score and bounds are for the side to move there; `azo.search.objective` says what
its value and score are. `live_simulation` fills the tree; the
arrays grow by `with_room`, and `subtree` keeps a part when the game moves on.
"""

from typing import NamedTuple

import numpy as np

from azo.solver.host import last_squares
from azo.solver.host.kernels import ZERO, jit

NEW, WAITING, OPEN, DONE = 0, 1, 2, 3  # not evaluated; in a batch; with edges; proven result
MAX_DEPTH = 128  # no game has more plies
LOSS, WIN = -1, 1
UNVISITED = -1
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
    score_sum: np.ndarray  # [N] float64, likewise
    raw_value: np.ndarray  # [N] float32, by the network, or exact if the node was never evaluated
    raw_score: np.ndarray  # [N] float32, likewise
    lower: np.ndarray  # [N] int8, lower bound under perfect play, see `SearchRules.most`
    upper: np.ndarray  # [N] int8, upper bound
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
    result: np.ndarray  # [R] float32, the expected one
    score: np.ndarray  # [R] float32, the expected one


class SearchRules(NamedTuple):
    """The rules of the game and the settings of the search."""

    board: last_squares.SolverRules
    size: int
    c_puct: float
    virtual_loss: float
    temperature: float  # of the prior
    score_share: float  # of the values
    exact_empties: int
    has_proofs: bool
    most: int  # the best bound: WIN, or all squares if bounds are of the final score


class LeafBatch(NamedTuple):
    """Up to `L` leaves for the network, each with its path."""

    player: np.ndarray  # [L] uint64, in the form that the network evaluates
    opponent: np.ndarray  # [L] uint64
    symmetry: np.ndarray  # [L] int64, from the node's position to this form
    path: np.ndarray  # [L, MAX_DEPTH] int32, nodes from the root to the leaf
    length: np.ndarray  # [L] int64


def make_tree(
    player: int, opponent: int, most: int = WIN, num_nodes: int = 1024, num_edges: int = 16384
) -> LiveTree:
    """Returns a tree with only a root; `most` is that of the `SearchRules`."""
    tree = LiveTree(
        player=np.zeros(num_nodes, np.uint64),
        opponent=np.zeros(num_nodes, np.uint64),
        state=np.zeros(num_nodes, np.int8),
        visits=np.zeros(num_nodes, np.int32),
        virtual=np.zeros(num_nodes, np.int32),
        value_sum=np.zeros(num_nodes),
        score_sum=np.zeros(num_nodes),
        raw_value=np.zeros(num_nodes, np.float32),
        raw_score=np.zeros(num_nodes, np.float32),
        lower=np.full(num_nodes, -most, np.int8),
        upper=np.full(num_nodes, most, np.int8),
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
        result=np.zeros(num_rows, np.float32),
        score=np.zeros(num_rows, np.float32),
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


def subtree(tree: LiveTree, root: int) -> LiveTree:
    """Returns the subtree of a node as a tree of its own."""
    num_nodes, num_edges = (int(number) for number in tree.counts)
    copy = make_tree(0, 0, num_nodes=num_nodes, num_edges=num_edges)
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
        into.score_sum[done] = tree.score_sum[old]
        into.raw_value[done], into.raw_score[done] = tree.raw_value[old], tree.raw_score[old]
        into.lower[done], into.upper[done] = tree.lower[old], tree.upper[old]
        begin = into.counts[EDGES]
        into.first_edge[done], into.num_edges[done] = begin, tree.num_edges[old]
        for i in range(tree.num_edges[old]):
            edge = tree.first_edge[old] + i
            into.action[begin + i], into.prior[begin + i] = tree.action[edge], tree.prior[edge]
            into.child[begin + i] = UNVISITED
            if tree.child[edge] != UNVISITED:
                source[num_nodes] = tree.child[edge]
                into.child[begin + i] = num_nodes
                num_nodes += 1
        into.counts[EDGES] += tree.num_edges[old]
        done += 1
    into.counts[NODES] = num_nodes
