"""Batched tree search: the loops of `mctx.search`, rearranged so that they cost little.

Each of `B` games has a tree of `N` nodes, node 0 the root. One simulation goes down every tree to
a move not yet tried, evaluates the positions behind these moves in one batch, and adds the values
to the nodes on the way. The rules of choosing a move are given as functions of one node, in the
form of a `mctx.Tree` of that node alone, so that mctx's own action selection and q-transforms work
as they are; `to_mctx` gives the whole tree.

What differs from mctx, which this reproduces visit for visit:

* A node has `S` slots, one for each legal move, instead of one for each action: see `compact`.
* Visits and values are kept once, at the nodes. The way down marks its nodes in a `[B, N]` array
  of signs, and the backup is one multiplication by it, without a loop and without scatters.
* The way down is one loop for the whole batch. The root's rule runs once, before it.
* A finished game ends the way down; nothing is searched below it.
* The node made by simulation `s` is node `s + 1` in every tree, so storing it is one slice.

A node's value is seen by the side to move there. Rewards come only with the last ply and points of
view alternate, so the value of a finished game is its result, and a move is worth minus the value
of the node behind it.

A node of Othello 8x8 takes 285 bytes.
"""

import dataclasses
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


def grow(
    game: protocol.Game,
    evaluate: Evaluate,
    key: jax.Array,
    root: protocol.Position,
    root_moves: Moves,
    root_value: jax.Array,
    *,
    num_simulations: int,
    select_at_root: Select,
    select_below: Select,
) -> Tree:
    """Runs the simulations.

    Args:
      game: the rules.
      evaluate: evaluates a batch of positions; illegal moves need not be masked.
      key: for `evaluate`.
      root: `[B]` positions. Where the game is over already, nothing useful comes out.
      root_moves: of these positions, from `compact`.
      root_value: `[B]` float32, for the side to move.
      num_simulations: number of evaluations after the root's, at most `MAX_SIMULATIONS`.
      select_at_root: rule for the first move.
      select_below: rule for the moves after it.

    Returns:
      Trees with `num_simulations + 1` nodes, not all of them in use where games ended.
    """
    tree = _plant(game, root, root_moves, root_value, num_simulations + 1)

    def simulate(simulation: jax.Array, tree: Tree) -> Tree:
        way = _descend(tree, select_at_root, select_below)
        here, moves = at_node((tree.position, tree.moves), way.node)
        step = game.step(here, moves.at(way.slot))
        evaluation = evaluate(jax.random.fold_in(key, simulation), step.position)
        is_over = step.discount == 0
        value = jnp.where(is_over, -step.reward, evaluation.value)
        moves = compact(game, step.position, evaluation.prior_logits)
        tree = _store(tree, simulation + 1, step.position, is_over, moves, value)
        tree = dataclasses.replace(tree, child=_link(tree.child, way, simulation + 1))
        return _back_up(tree, way, simulation + 1, value)

    return jax.lax.fori_loop(0, num_simulations, simulate, tree)


def at_node(x: Any, node: jax.Array) -> Any:
    """Returns `[B, ...]`, the entries of `[B, N, ...]` at one node `[B]` of each tree."""
    return jax.tree.map(lambda x: jax.vmap(lambda row, index: row[index])(x, node), x)


def view(tree: Tree, node: jax.Array, extra_data: object = None) -> mctx.Tree:
    """Returns one node `[B]` of each tree as mctx sees it: index 0 of a tree of one node.

    Its actions are our slots. The fields that describe the rest of the tree hold what a root has.
    """
    child, moves = at_node((tree.child, tree.moves), node)
    is_visited = child != UNVISITED
    known = jnp.maximum(child, 0)
    visits = jnp.where(is_visited, _in_row(tree.visits, known), 0)
    sums = jnp.where(is_visited, _in_row(tree.value_sum, known), 0.0)
    node_visits, node_sum, raw_value = at_node((tree.visits, tree.value_sum, tree.raw_value), node)

    def alone(x):
        return x[:, None]

    no_parent = jnp.full((node.shape[0], 1), mctx.Tree.NO_PARENT)
    return mctx.Tree(
        node_visits=alone(node_visits),
        raw_values=alone(raw_value),
        node_values=alone(node_sum / node_visits),
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
        extra_data=extra_data,
    )


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

    rows = jnp.arange(batch)[:, None, None]
    child = jnp.where(is_visited, tree.child, num_nodes)

    def from_parent(x: jax.Array) -> jax.Array:
        none = jnp.full((batch, num_nodes), mctx.Tree.NO_PARENT)
        return none.at[rows, child].set(jnp.broadcast_to(x, child.shape), mode="drop")

    ends_game = of_children(tree.is_over.astype(jnp.float32)) > 0
    visits = of_children(tree.visits)
    return mctx.Tree(
        node_visits=tree.visits,
        raw_values=tree.raw_value,
        node_values=tree.value(),
        parents=from_parent(jnp.arange(num_nodes)[None, :, None]),
        action_from_parent=from_parent(tree.moves.action.astype(jnp.int32)),
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


@flax.struct.dataclass
class _Way:
    """The way down each tree, to a move not yet tried or to a finished game."""

    node: jax.Array  # [B] int32, where the last move was chosen
    slot: jax.Array  # [B] int32, that move
    sign: jax.Array  # [B, N] int8, 1 or -1 by depth at the nodes on the way, 0 elsewhere
    leaf_sign: jax.Array  # [B] int8, what `sign` is to be at the end of the way
    finished: jax.Array  # [B] int32, node of the finished game at the end, or UNVISITED


def _plant(
    game: protocol.Game,
    root: protocol.Position,
    root_moves: Moves,
    root_value: jax.Array,
    num_nodes: int,
) -> Tree:
    batch, num_slots = root_moves.action.shape

    def room(x):
        return jnp.zeros((batch, num_nodes, *x.shape[1:]), x.dtype)

    tree = Tree(
        position=jax.tree.map(room, root),
        is_over=jnp.zeros((batch, num_nodes), bool),
        moves=jax.tree.map(room, root_moves),
        raw_value=room(root_value),
        visits=jnp.zeros((batch, num_nodes), jnp.int32).at[:, 0].set(1),
        value_sum=room(root_value).at[:, 0].set(root_value),
        child=jnp.full((batch, num_nodes, num_slots), UNVISITED, jnp.int16),
    )
    return _store(tree, 0, root, game.is_over(root), root_moves, root_value)


def _descend(tree: Tree, select_at_root: Select, select_below: Select) -> _Way:
    batch, num_nodes = tree.visits.shape
    nodes = jnp.arange(num_nodes)[None]
    root = jnp.zeros(batch, jnp.int32)

    def follow(way: _Way) -> tuple[_Way, jax.Array]:
        """Returns the way with its end worked out, and the node to go on from, if any."""
        child = _in_row(at_node(tree.child, way.node), way.slot).astype(jnp.int32)
        ends_game = (child != UNVISITED) & at_node(tree.is_over, jnp.maximum(child, 0))
        way = dataclasses.replace(way, finished=jnp.where(ends_game, child, UNVISITED))
        return way, jnp.where(ends_game, UNVISITED, child)

    def is_going_on(state: tuple[_Way, jax.Array]) -> jax.Array:
        return (state[1] != UNVISITED).any()

    def go_on(state: tuple[_Way, jax.Array]) -> tuple[_Way, jax.Array]:
        way, child = state
        moves = child != UNVISITED
        chosen = select_below(view(tree, jnp.maximum(child, 0)))
        way = dataclasses.replace(
            way,
            node=jnp.where(moves, child, way.node),
            slot=jnp.where(moves, chosen, way.slot),
            # No node is UNVISITED, so what does not go on is marked nowhere.
            sign=jnp.where(nodes == child[:, None], way.leaf_sign[:, None], way.sign),
            leaf_sign=jnp.where(moves, -way.leaf_sign, way.leaf_sign),
        )
        return follow(way)

    way = _Way(
        node=root,
        slot=select_at_root(view(tree, root)),
        sign=jnp.broadcast_to((nodes == 0).astype(jnp.int8), tree.visits.shape),
        leaf_sign=jnp.full(batch, -1, jnp.int8),
        finished=jnp.full(batch, UNVISITED),
    )
    return jax.lax.while_loop(is_going_on, go_on, follow(way))[0]


def _store(
    tree: Tree,
    node: jax.Array | int,
    position: protocol.Position,
    is_over: jax.Array,
    moves: Moves,
    value: jax.Array,
) -> Tree:
    def put(old, new):
        return jax.lax.dynamic_update_index_in_dim(old, new, node, axis=1)

    return dataclasses.replace(
        tree,
        position=jax.tree.map(put, tree.position, position),
        is_over=put(tree.is_over, is_over),
        moves=jax.tree.map(put, tree.moves, moves),
        raw_value=put(tree.raw_value, value),
    )


def _link(child: jax.Array, way: _Way, new_node: jax.Array) -> jax.Array:
    batch, num_nodes, _ = child.shape
    # A node out of range is dropped: nothing new lies behind a finished game.
    node = jnp.where(way.finished == UNVISITED, way.node, num_nodes)
    new_node = new_node.astype(child.dtype)
    return child.at[jnp.arange(batch), node, way.slot].set(new_node, mode="drop")


def _back_up(tree: Tree, way: _Way, new_node: jax.Array, value: jax.Array) -> Tree:
    leaf = jnp.where(way.finished == UNVISITED, new_node, way.finished)
    nodes = jnp.arange(tree.visits.shape[1])[None]
    sign = jnp.where(nodes == leaf[:, None], way.leaf_sign[:, None], way.sign)
    return dataclasses.replace(
        tree,
        visits=tree.visits + (sign != 0),
        value_sum=tree.value_sum + sign * (way.leaf_sign * value)[:, None],
    )


def _likeliest(
    game: protocol.Game, position: protocol.Position, logits: jax.Array, num_slots: int
) -> jax.Array:
    """Returns `[B, S]` int32, the legal actions with the highest logits, in ascending order."""
    legal = game.legal_mask(position)
    _, best = jax.lax.top_k(jnp.where(legal, logits, -jnp.inf), num_slots)
    is_kept = jnp.zeros_like(legal).at[jnp.arange(legal.shape[0])[:, None], best].set(True)
    return protocol.listed(is_kept & legal, num_slots)


def _in_row(x: jax.Array, index: jax.Array) -> jax.Array:
    """Returns entries of rows `[B, K]`, one `[B]` or several `[B, M]` a row."""
    return jax.vmap(lambda row, i: row[i])(x, index)
