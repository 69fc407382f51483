"""The tree of one live game on the host: nodes and edges as rows of two tables.

A node's value, score and bounds are for the side to move there; `azo.search.search_tree` says what
its value and score are. `live_simulation` fills the tree; the tables grow by `with_room`, and
`subtree` keeps a part when the game moves on.
"""

from typing import NamedTuple

import numpy as np

from azo.games.host import host_rules
from azo.games.host.kernels import jit

NEW, WAITING, OPEN, DONE = 0, 1, 2, 3  # not evaluated; in a batch; with edges; proven result
MAX_DEPTH = 128  # no game has more plies
LOSS, WIN = -1, 1
UNVISITED = -1
_MAX_EDGES = 56  # no position has more moves, see `Othello.max_legal`
# Indices of `LiveTree.counts`.
NODES, EDGES = 0, 1

NODE = np.dtype(
    [
        ("player", np.uint64),
        ("opponent", np.uint64),
        ("value_sum", np.float64),  # over the visits, for the side to move
        ("score_sum", np.float64),  # likewise
        ("visits", np.int32),
        ("virtual", np.int32),  # pending paths through the node
        ("raw_value", np.float32),  # by the network, or exact if the node was never evaluated
        ("raw_score", np.float32),  # likewise
        ("first_edge", np.int32),
        ("num_edges", np.int16),
        ("state", np.int8),  # NEW, WAITING, OPEN or DONE
        ("lower", np.int8),  # lower bound under perfect play, up to `SearchContext.max_bound`
        ("upper", np.int8),  # upper bound
    ],
    align=True,
)
EDGE = np.dtype(
    [
        ("prior", np.float32),
        ("child", np.int32),  # -1 before the first visit
        ("action", np.int8),
    ],
    align=True,
)


class LiveTree(NamedTuple):
    """Nodes, the first of them the root, and edges: room for `N` and `E` of them."""

    nodes: np.ndarray  # [N] NODE
    edges: np.ndarray  # [E] EDGE
    counts: np.ndarray  # [2] int64: nodes and edges


class SearchContext(NamedTuple):
    """The rules of the game, the settings of the search, and its memory besides the tree."""

    board: host_rules.HostRules
    size: int
    c_puct: float
    temperature: float  # of the prior
    score_share: float  # of the values
    exact_empties: int
    has_proofs: bool
    max_bound: int  # WIN, or all squares if bounds are of the final score
    stack: np.ndarray  # work space of `last_squares.few`, which solves leaves
    counters: np.ndarray  # likewise


class LeafBatch(NamedTuple):
    """Up to `L` leaves for the network, each with its path."""

    player: np.ndarray  # [L] uint64
    opponent: np.ndarray  # [L] uint64
    path: np.ndarray  # [L, MAX_DEPTH] int32, nodes from the root to the leaf
    length: np.ndarray  # [L] int64


def make_tree(
    player: int, opponent: int, max_bound: int = WIN, num_nodes: int = 1024, num_edges: int = 16384
) -> LiveTree:
    """Returns a tree with only a root; `max_bound` is that of the `SearchContext`."""
    tree = LiveTree(np.zeros(num_nodes, NODE), np.zeros(num_edges, EDGE), np.array([1, 0]))
    root = tree.nodes[0]
    root["player"], root["opponent"] = player, opponent
    root["lower"], root["upper"] = -max_bound, max_bound
    return tree


def with_room(tree: LiveTree, num_more: int) -> LiveTree:
    """Returns the tree with room for `num_more` more nodes and their edges."""

    def grown(table: np.ndarray, num_rows: int) -> np.ndarray:
        if len(table) >= num_rows:
            return table
        more = np.zeros(max(num_rows, 2 * len(table)), table.dtype)
        more[: len(table)] = table
        return more

    num_nodes, num_edges = tree.counts.tolist()
    return LiveTree(
        grown(tree.nodes, num_nodes + num_more),
        grown(tree.edges, num_edges + num_more * _MAX_EDGES),
        tree.counts,
    )


def make_batch(num_leaves: int) -> LeafBatch:
    """Returns an empty batch for `num_leaves` leaves."""
    return LeafBatch(
        player=np.zeros(num_leaves, np.uint64),
        opponent=np.zeros(num_leaves, np.uint64),
        path=np.zeros((num_leaves, MAX_DEPTH), np.int32),
        length=np.zeros(num_leaves, np.int64),
    )


def subtree(tree: LiveTree, root: int) -> LiveTree:
    """Returns the subtree of a node as a separate tree."""
    num_nodes, num_edges = tree.counts.tolist()
    copy = make_tree(0, 0, num_nodes=num_nodes, num_edges=num_edges)
    _copy(tree, root, copy)
    return copy


@jit
def _copy(tree, root, into):
    # Breadth first; `source` holds each new node's index in the old tree.
    source = np.empty(tree.counts[NODES], np.int32)
    source[0] = root
    num_nodes, num_edges, done = 1, 0, 0
    while done < num_nodes:
        into.nodes[done] = tree.nodes[source[done]]
        node = into.nodes[done]
        first_edge = node.first_edge
        node.virtual, node.first_edge = 0, num_edges
        for edge in range(first_edge, first_edge + node.num_edges):
            into.edges[num_edges] = tree.edges[edge]
            if tree.edges[edge].child != UNVISITED:
                source[num_nodes] = tree.edges[edge].child
                into.edges[num_edges].child = num_nodes
                num_nodes += 1
            num_edges += 1
        done += 1
    into.counts[NODES], into.counts[EDGES] = num_nodes, num_edges
