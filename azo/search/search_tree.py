"""Trees of a batch of games, and one node of them as mctx sees it.

Each of `B` games has a tree of `N` nodes, node 0 the root; `azo.search.growth` fills them. The
rules of choosing a move are functions of one node, in the form of a `mctx.Tree` of that node
alone, so that mctx's own action selection and q-transforms work as they are; `to_mctx` gives the
whole tree.

A node has `S` slots, one for each legal move, instead of one for each action: see `compact`.
Visits and values are kept once, at the nodes, and not a second time at their parents.

A node's value is seen by the side to move there. Rewards come only with the last ply and points of
view alternate, so the value of a finished game is its result, and a move is worth minus the value
of the node behind it.

A node of Othello 8x8 takes 285 bytes.
"""

from collections.abc import Callable
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import mctx

from azo.games import protocol

UNVISITED = -1
# Slots of a node, if the game has positions with so many moves.
MAX_SLOTS = 32
# Nodes and actions are kept in 16 bits.
MAX_SIMULATIONS = 2**15 - 2


@flax.struct.dataclass
class Evaluation:
    """What a network, or something in its place, says of positions."""

    prior_logits: jax.Array  # [B, A] float32, also of illegal moves, before softmax
    value: jax.Array  # [B] float32 in [-1, 1], for the side to move


@flax.struct.dataclass
class Moves:
    """The moves of positions, compact: `S` slots, the legal actions in ascending order."""

    action: jax.Array  # [B, S] int16, -1 where a slot is empty
    logits: jax.Array  # [B, S] float32, logarithm of the prior; lowest float in an empty slot

    def is_legal(self) -> jax.Array:
        """Returns `[B, S]` bool, the slots that hold a move."""
        return self.action >= 0

    def at(self, slot: jax.Array) -> jax.Array:
        """Returns `[B]` int32, the actions in slots `[B]`."""
        return _in_row(self.action, slot).astype(jnp.int32)

    def spread(self, x: jax.Array, num_actions: int, empty: float = 0) -> jax.Array:
        """Returns `[B, A]`, what `[B, S]` says of each slot's action, and `empty` elsewhere."""
        action = jnp.where(self.is_legal(), self.action, num_actions)
        rows = jnp.arange(x.shape[0])[:, None]
        elsewhere = jnp.full((x.shape[0], num_actions), empty, x.dtype)
        return elsewhere.at[rows, action].set(x, mode="drop")


@flax.struct.dataclass
class Tree:
    """The trees of a batch of games."""

    position: protocol.Position  # [B, N, ...]
    is_over: jax.Array  # [B, N] bool
    moves: Moves  # [B, N, S]
    raw_value: jax.Array  # [B, N] float32, value of the position without search
    visits: jax.Array  # [B, N] int32
    value_sum: jax.Array  # [B, N] float32, sum of the values of all visits
    child: jax.Array  # [B, N, S] int16, node behind a move, or UNVISITED

    def value(self) -> jax.Array:
        """Returns `[B, N]` float32, the mean value of the visits to each node; 0 if none."""
        return self.value_sum / jnp.maximum(self.visits, 1)


# Chooses slots `[B]` int32, given trees that consist of the node to move from.
Select = Callable[[mctx.Tree], jax.Array]
Evaluate = Callable[[jax.Array, protocol.Position], Evaluation]


def mask_illegal(logits: jax.Array, legal: jax.Array) -> jax.Array:
    """Returns logits whose softmax gives illegal moves nothing; finite, so never NaN."""
    logits = logits - jnp.max(jnp.where(legal, logits, -jnp.inf), axis=-1, keepdims=True)
    return jnp.where(legal, logits, jnp.finfo(logits.dtype).min)


def compact(game: protocol.Game, position: protocol.Position, logits: jax.Array) -> Moves:
    """Returns the moves of positions `[B]`, given logits `[B, A]` of all actions.

    There are `MAX_SLOTS` slots at most. `max_legal` proves that to be enough for boards up to 6x6.
    A million positions of random games on 8x8 had up to 26 moves. Should a position have more than
    there are slots, the moves with the highest logits are kept.
    """
    num_slots = min(MAX_SLOTS, game.max_legal)
    action = game.legal_actions(position, num_slots)
    if num_slots < game.max_legal:
        is_full = (action[:, -1] >= 0).any()
        action = jax.lax.cond(
            is_full, lambda: _likeliest(game, position, logits, num_slots), lambda: action
        )
    in_slots = jnp.take_along_axis(logits, jnp.maximum(action, 0), axis=1)
    return Moves(
        action=action.astype(jnp.int16),
        logits=jax.nn.log_softmax(mask_illegal(in_slots, action >= 0)),
    )


def at_node(x: Any, node: jax.Array) -> Any:
    """Returns the entries of `[B, N, ...]` at one node `[B]` of each tree, or several `[B, L]`."""
    return jax.tree.map(lambda x: jax.vmap(lambda row, index: row[index])(x, node), x)


def view(tree: Tree, node: jax.Array, virtual: jax.Array | None = None) -> mctx.Tree:
    """Returns one node `[B]` of each tree as mctx sees it: index 0 of a tree of one node.

    Its actions are our slots. The fields that describe the rest of the tree hold what a root has.
    Virtual visits `[B, N]` float32, 0 or at least 1, count as visits, each lost for whoever chose
    the move; what the node itself is worth stays as it is.
    """
    child, moves = at_node((tree.child, tree.moves), node)
    is_visited = child != UNVISITED
    known = jnp.maximum(child, 0)
    visits = jnp.where(is_visited, _in_row(tree.visits, known), 0)
    sums = jnp.where(is_visited, _in_row(tree.value_sum, known), 0.0)
    node_visits, node_sum, raw_value = at_node((tree.visits, tree.value_sum, tree.raw_value), node)
    node_value = node_sum / node_visits
    if virtual is not None:
        lost = jnp.where(is_visited, _in_row(virtual, known), 0.0)
        visits, sums = visits + lost, sums + lost
        node_visits = node_visits + at_node(virtual, node)

    def alone(x):
        return x[:, None]

    no_parent = jnp.full((node.shape[0], 1), mctx.Tree.NO_PARENT)
    return mctx.Tree(
        node_visits=alone(node_visits),
        raw_values=alone(raw_value),
        node_values=alone(node_value),
        parents=no_parent,
        action_from_parent=no_parent,
        children_index=alone(child),
        children_prior_logits=alone(moves.logits),
        children_visits=alone(visits),
        children_rewards=alone(jnp.zeros_like(sums)),
        children_discounts=alone(jnp.full_like(sums, -1.0)),
        children_values=alone(sums / jnp.maximum(visits, 1)),
        embeddings=None,
        root_invalid_actions=(~moves.is_legal()).astype(jnp.float32),
        extra_data=None,
    )


def parents(tree: Tree) -> jax.Array:
    """Returns `[B, N]` int32, the node above each, or -1 (mctx's NO_PARENT) if there is none."""
    return _from_parent(tree, jnp.arange(tree.child.shape[1])[None, :, None])


def to_mctx(tree: Tree, num_actions: int) -> mctx.Tree:
    """Returns the whole tree as mctx keeps it, `[B, N, A]`: for its functions, tests and analysis.

    What mctx leaves undefined is 0 here, such as the rewards of moves not tried.
    """
    batch, num_nodes, num_slots = tree.child.shape

    def spread(x: jax.Array, empty: float = 0) -> jax.Array:
        flat = jax.tree.map(lambda y: y.reshape(-1, num_slots), (tree.moves, x))
        filled = flat[0].spread(flat[1], num_actions, empty)
        return filled.reshape(batch, num_nodes, num_actions)

    is_visited = tree.child != UNVISITED
    known = jnp.maximum(tree.child, 0).reshape(batch, -1)

    def of_children(x: jax.Array) -> jax.Array:
        return spread(jnp.where(is_visited, _in_row(x, known).reshape(is_visited.shape), 0))

    ends_game = of_children(tree.is_over.astype(jnp.float32)) > 0
    visits = of_children(tree.visits)
    return mctx.Tree(
        node_visits=tree.visits,
        raw_values=tree.raw_value,
        node_values=tree.value(),
        parents=parents(tree),
        action_from_parent=_from_parent(tree, tree.moves.action.astype(jnp.int32)),
        children_index=spread(tree.child.astype(jnp.int32), UNVISITED),
        children_prior_logits=spread(tree.moves.logits, float(jnp.finfo(jnp.float32).min)),
        children_visits=visits,
        children_rewards=jnp.where(ends_game, -of_children(tree.raw_value), 0.0),
        children_discounts=jnp.where(ends_game, 0.0, jnp.where(visits > 0, -1.0, 0.0)),
        children_values=of_children(tree.value()),
        embeddings=tree.position,
        root_invalid_actions=1.0 - spread(tree.moves.is_legal().astype(jnp.float32))[:, 0],
        extra_data=None,
    )


def _likeliest(
    game: protocol.Game, position: protocol.Position, logits: jax.Array, num_slots: int
) -> jax.Array:
    """Returns `[B, S]` int32, the legal actions with the highest logits, in ascending order."""
    legal = game.legal_mask(position)
    _, best = jax.lax.top_k(jnp.where(legal, logits, -jnp.inf), num_slots)
    is_kept = jnp.zeros_like(legal).at[jnp.arange(legal.shape[0])[:, None], best].set(True)
    return protocol.actions_from_mask(is_kept & legal, num_slots)


def _from_parent(tree: Tree, x: jax.Array) -> jax.Array:
    """Returns `[B, N]`, what `[B, N, S]` says of the slot that leads to each node, or -1."""
    batch, num_nodes, _ = tree.child.shape
    rows = jnp.arange(batch)[:, None, None]
    child = jnp.where(tree.child != UNVISITED, tree.child, num_nodes)
    none = jnp.full((batch, num_nodes), mctx.Tree.NO_PARENT)
    return none.at[rows, child].set(jnp.broadcast_to(x, child.shape), mode="drop")


def _in_row(x: jax.Array, index: jax.Array) -> jax.Array:
    """Returns entries of rows `[B, K]`, one `[B]` or several `[B, M]` a row."""
    return jax.vmap(lambda row, i: row[i])(x, index)
