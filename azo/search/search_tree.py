"""Search trees of a batch of games.

Each of `B` games has a tree of `N` nodes, node 0 the root; `mcts` fills them. A rule of selection
is a function of one node, see `Node`.

A node has `S` slots, one for each legal move, instead of one for each action: see `compact`.
Visits and values are stored once, at the node, and not also at its parent. A node of Othello 8x8
takes 285 bytes.

A node's value is seen by the side to move there. Rewards come only with the last ply and the sides
alternate. So the value of a finished game is that of its final score, and Q of a move is minus the
value of the node behind it. Bounds of the result limit a node's value; see `proofs`. The search
maximises a mix of the result and the final score, see `mix_values`.
"""

import abc
import dataclasses
from collections.abc import Sequence
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
from jax.experimental import layout

from azo.games import protocol

UNVISITED = -1
LOSS, WIN = -1, 1


@flax.struct.dataclass
class Moves:
    """The legal moves of positions in `S` slots, in ascending order of action."""

    action: jax.Array  # [B, S] int16, -1 where a slot is empty
    logits: jax.Array  # [B, S] float32, logarithm of the prior; lowest float in an empty slot

    def is_legal(self) -> jax.Array:
        """Returns `[B, S]` bool, the slots that hold a move."""
        return self.action >= 0

    def at(self, slot: jax.Array) -> jax.Array:
        """Returns `[B]` int32, the actions in slots `[B]`."""
        return at_node(self.action, slot).astype(jnp.int32)

    def spread(self, x: jax.Array, num_actions: int, empty: float = 0) -> jax.Array:
        """Returns `[B, A]` with the entries of `x` `[B, S]` at their actions, `empty` elsewhere."""
        action = jnp.where(self.is_legal(), self.action, num_actions)
        rows = jnp.arange(x.shape[0])[:, None]
        elsewhere = jnp.full((x.shape[0], num_actions), empty, x.dtype)
        return elsewhere.at[rows, action].set(x, mode="drop")


@flax.struct.dataclass
class Bounds:
    """Bounds of results under perfect play, for the side to move."""

    lower: jax.Array  # [...] int8, -1, 0 or 1
    upper: jax.Array  # [...] int8

    def is_proven(self) -> jax.Array:
        """Returns `[...]` bool, whether only one result is left."""
        return self.lower == self.upper

    def clip(self, value: jax.Array, score_share: float) -> jax.Array:
        """Returns the values `[...]` float32, clipped to those that the bounds allow.

        The value of a won game is at least `1 - score_share`, see `mix_values`.
        """
        lowest = jnp.where(self.lower == WIN, 1 - score_share, self.lower)
        highest = jnp.where(self.upper == LOSS, score_share - 1, self.upper)
        return jnp.clip(value, lowest, highest)


@flax.struct.dataclass
class Tree:
    """The trees of a batch of games."""

    position: protocol.Position  # [B, N, ...]
    parent: jax.Array  # [B, N] int16, -1 at the root and at unused nodes
    bounds: Bounds  # [B, N], equal if proven or over
    moves: Moves  # [B, N, S]
    raw_value: jax.Array  # [B, N] float32, the evaluation's value, or the result of a finished game
    visits: jax.Array  # [B, N] int32
    value_sum: jax.Array  # [B, N] float32, sum of the values of all visits
    child: jax.Array  # [B, N, S] int16, node behind a move, or UNVISITED
    has_proofs: bool = flax.struct.field(pytree_node=False)  # bounds pass up, see `proofs`
    score_share: float = flax.struct.field(pytree_node=False)  # of the values, see `mix_values`

    def value(self) -> jax.Array:
        """Returns `[B, N]` float32, the mean value of the visits to each node; 0 if none."""
        return self.bounds.clip(self.value_sum / jnp.maximum(self.visits, 1), self.score_share)


def mask_illegal(logits: jax.Array, legal: jax.Array) -> jax.Array:
    """Returns finite logits whose softmax gives illegal moves probability 0."""
    logits = logits - jnp.max(jnp.where(legal, logits, -jnp.inf), axis=-1, keepdims=True)
    return jnp.where(legal, logits, jnp.finfo(logits.dtype).min)


def compact(game: protocol.Game, position: protocol.Position, logits: jax.Array) -> Moves:
    """Returns the legal moves of positions `[B]`, given logits `[B, A]` of all actions.

    There are `game.num_slots` slots: as many as a position can have moves, unless a game says
    otherwise, as Othello on 8x8 does. If a position has more moves than slots, those with the
    highest logits are kept.
    """
    num_slots = game.num_slots
    action = game.legal_actions(position, num_slots)
    if num_slots < game.max_legal:
        legal = game.legal_mask(position)
        action = jax.lax.platform_dependent(
            action, legal, logits, cuda=_likeliest_by_rank, default=_likeliest_if_full
        )
    in_slots = jax.lax.platform_dependent(
        logits, jnp.maximum(action, 0), tpu=_at_node_on_tpu, default=_along_last_axis
    )
    return Moves(
        action=action.astype(jnp.int16),
        logits=jax.nn.log_softmax(mask_illegal(in_slots, action >= 0)),
    )


def _along_last_axis(x: jax.Array, index: jax.Array) -> jax.Array:
    return jnp.take_along_axis(x, index, axis=1)


def at_node(x: Any, node: jax.Array) -> Any:
    """Returns the entries of `[B, N, ...]` at one node `[B]` of each tree, or several `[B, L]`.

    In a kernel of a GPU and in the loops of a TPU they are not arrays, but `LazyArray`s.
    """

    def entries(x: Any) -> jax.Array:
        if isinstance(x, LazyArray):
            return x.at(node)
        return jax.lax.platform_dependent(x, node, tpu=_at_node_on_tpu, default=_gather)

    return jax.tree.map(entries, x)


_gather = jax.vmap(lambda row, index: row[index])


def _at_node_on_tpu(x: jax.Array, node: jax.Array) -> jax.Array:
    return GamesLast.of(x).at(node)


class LazyArray(abc.ABC):
    """An array `[B, N, ...]` in memory, of which a kernel reads what it needs."""

    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of what is read."""

    @abc.abstractmethod
    def at(self, node: jax.Array) -> jax.Array:
        """Returns the entries at nodes `[B]` or `[B, L]`."""


@dataclasses.dataclass(frozen=True)
class GamesLast(LazyArray):
    """An array `[B, N, ...]` of a program for TPUs, which lies in memory with the games last.

    A TPU handles 128 entries of the last axis at once, so slots there would waste three quarters.
    It has no fast gather, and its compiler does not estimate one: nodes are chosen bit by bit.
    """

    array: jax.Array  # [N, ..., B]
    nodes: Sequence[jax.Array] | jax.Array  # the same, one after the other

    @classmethod
    def of(cls, x: jax.Array) -> "GamesLast":
        """Returns an array `[B, N, ...]`."""
        array = jnp.moveaxis(x, 0, -1)
        # Else each turn of a loop would cut small arrays again. Cutting a large one copies it.
        return cls(array, jax.lax.optimization_barrier(tuple(array)) if x.ndim == 2 else array)

    @property
    def shape(self) -> tuple[int, ...]:
        """As of an array with the games first."""
        return (self.array.shape[-1], *self.array.shape[:-1])

    def at(self, node: jax.Array) -> jax.Array:
        """Returns the entries at nodes `[B]` or `[B, L]`."""
        index, between = jnp.moveaxis(node, 0, -1), self.array.shape[1:-1]
        index = index.reshape(*index.shape[:-1], *(1,) * len(between), index.shape[-1])
        entries = _choose(list(self.nodes), index)
        # Else each use would choose again.
        return jnp.moveaxis(jax.lax.optimization_barrier(entries), -1, 0)


def games_last(tree: Tree) -> Tree:
    """Returns a tree whose arrays are `GamesLast`."""
    return jax.tree.map(GamesLast.of, tree)


def _choose(rows: Sequence[jax.Array], index: jax.Array) -> jax.Array:
    """Returns the entries of the rows with the numbers `index`, in one choice less than rows."""
    if len(rows) == 1:
        return jnp.broadcast_to(rows[0], jnp.broadcast_shapes(rows[0].shape, index.shape))
    num_low = 1 << ((len(rows) - 1).bit_length() - 1)
    if len(rows) == 2 * num_low:
        is_odd = (index & 1) > 0
        pairs = zip(rows[::2], rows[1::2], strict=True)
        return _choose([jnp.where(is_odd, odd, even) for even, odd in pairs], index >> 1)
    low, high = _choose(rows[:num_low], index), _choose(rows[num_low:], index - num_low)
    return jnp.where(index < num_low, low, high)


def lay_games_last(x: Any) -> Any:
    """Returns the same arrays `[B, ...]`, which lie in a TPU's memory with the games last."""

    def same(x: jax.Array) -> jax.Array:
        return x

    def lay(x: jax.Array) -> jax.Array:
        return jax.lax.platform_dependent(x, tpu=with_games_last, default=same)

    return jax.tree.map(lay, x)


def with_games_last(x: jax.Array) -> jax.Array:
    """Returns the same array `[B, ...]` with this layout, in a program for TPUs."""
    order = (*range(1, x.ndim), 0)
    return layout.with_layout_constraint(x, layout.Layout(major_to_minor=order))


@flax.struct.dataclass
class Table:
    """Entries of each game that a rule looks up."""

    entries: jax.Array  # [B, K]

    def at(self, index: jax.Array) -> jax.Array:
        """Returns the entries `[B]` at indices `[B]`."""
        return at_node(self.entries, index)


def in_slot(x: jax.Array, slot: jax.Array) -> jax.Array:
    """Returns the entries `[B]` of `x` `[B, S]`, integers or bools, in one slot `[B]` each."""
    is_slot = jnp.arange(x.shape[1])[None] == slot[:, None]
    return jnp.where(is_slot, x.astype(jnp.int32), 0).sum(axis=-1).astype(x.dtype)


def has_any(x: jax.Array) -> jax.Array:
    """Returns `[B, 1]` bool, whether a slot of `x` `[B, S]` bool is set.

    The compiler of kernels, Triton, reduces numbers and no bools.
    """
    return x.astype(jnp.int32).max(axis=-1, keepdims=True) > 0


@flax.struct.dataclass
class Node:
    """One node of each tree and its moves, as a rule of selection sees them.

    Visits include virtual losses, and are then float32. The values of moves that have no visit are
    0.
    """

    visits: jax.Array  # [B] int32 or float32, its own evaluation included
    value: jax.Array  # [B] float32, mean value of the visits
    raw_value: jax.Array  # [B] float32, that of its own evaluation
    logits: jax.Array  # [B, S] float32, log of the prior; lowest float where a move is excluded
    move_visits: jax.Array  # [B, S] int32 or float32, of the nodes behind the moves
    q: jax.Array  # [B, S] float32, mean value of the moves for the side to move at the node
    is_legal: jax.Array  # [B, S] bool, the slots that hold a move

    def is_open(self) -> jax.Array:
        """Returns `[B, S]` bool, the moves that may be selected: legal, and not excluded."""
        return self.logits > jnp.finfo(self.logits.dtype).min

    def without(self, excluded: jax.Array) -> "Node":
        """Returns the nodes with moves excluded, `[B, S]` bool, unless that is all open moves.

        All rules of azo leave such moves unvisited.
        """
        excluded &= has_any(self.is_open() & ~excluded)
        lowest = jnp.finfo(self.logits.dtype).min
        return dataclasses.replace(self, logits=jnp.where(excluded, lowest, self.logits))


def node_of(tree: Tree, node: jax.Array, virtual: jax.Array | None = None) -> Node:
    """Returns one node `[B]` of each tree.

    Moves that cannot improve on the lower bound of the node are excluded, unless that is all moves.
    Virtual losses `[B, N]` float32 are 0 or at least 1. They count as visits, and as losses for the
    side that moved to the node. The value of `node` itself is unchanged.
    """
    child, moves = at_node((tree.child, tree.moves), node)
    is_visited = child != UNVISITED
    index = jnp.maximum(child, 0)
    move_visits = jnp.where(is_visited, at_node(tree.visits, index), 0)
    sums = jnp.where(is_visited, at_node(tree.value_sum, index), 0.0)
    visits, value_sum, raw_value = at_node((tree.visits, tree.value_sum, tree.raw_value), node)
    value = value_sum / visits
    excluded = ~moves.is_legal()
    if tree.has_proofs:
        edges, bounds = move_bounds(tree, node), at_node(tree.bounds, node)
        useless = edges.upper <= bounds.lower[:, None]
        excluded |= useless & has_any(~useless)
        value = bounds.clip(value, tree.score_share)
    if virtual is not None:
        losses = jnp.where(is_visited, at_node(virtual, index), 0.0)
        move_visits, sums = move_visits + losses, sums + losses
        visits = visits + at_node(virtual, node)

    values = sums / jnp.maximum(move_visits, 1)  # for the side that moved to the nodes behind
    if tree.has_proofs:
        behind = Bounds(lower=-edges.upper, upper=-edges.lower)
        values = jnp.where(is_visited, behind.clip(values, tree.score_share), 0.0)
    return Node(
        visits=visits,
        value=value,
        raw_value=raw_value,
        logits=jnp.where(excluded, jnp.finfo(jnp.float32).min, moves.logits),
        move_visits=move_visits,
        q=-values,
        is_legal=moves.is_legal(),
    )


def move_bounds(tree: Tree, node: jax.Array) -> Bounds:
    """Returns the bounds `[B, S]` of the moves of nodes `[B]`, for the side to move there.

    Unvisited moves may still win or lose; empty slots lose.
    """
    child, action = at_node((tree.child, tree.moves.action), node)
    is_visited = child != UNVISITED
    behind = at_node(tree.bounds, jnp.maximum(child, 0))
    upper = jnp.where(action >= 0, WIN, LOSS).astype(jnp.int8)
    return Bounds(
        lower=jnp.where(is_visited, -behind.upper, LOSS).astype(jnp.int8),
        upper=jnp.where(is_visited, -behind.lower, upper),
    )


def _likeliest_if_full(action: jax.Array, legal: jax.Array, logits: jax.Array) -> jax.Array:
    """Returns `[B, S]` int32, the legal actions with the highest logits, in ascending order.

    The first legal actions `action` `[B, S]` are these unless all slots are taken.
    """
    num_slots = action.shape[-1]

    def likeliest() -> jax.Array:
        _, best = jax.lax.top_k(jnp.where(legal, logits, -jnp.inf), num_slots)
        is_kept = jnp.zeros_like(legal).at[jnp.arange(legal.shape[0])[:, None], best].set(True)
        return protocol.actions_from_mask(is_kept & legal, num_slots)

    return jax.lax.cond((action[:, -1] >= 0).any(), likeliest, lambda: action)


def _likeliest_by_rank(action: jax.Array, legal: jax.Array, logits: jax.Array) -> jax.Array:
    """Returns the same without a condition, for which the host of a GPU would wait."""
    number = jnp.arange(legal.shape[-1])
    is_before = number[None, None, :] < number[None, :, None]
    value = jnp.where(legal, logits, -jnp.inf)
    own, other = value[:, :, None], value[:, None, :]
    rank = ((other > own) | ((other == own) & is_before)).sum(axis=-1)
    is_kept = legal & (rank < action.shape[-1])
    slot = (is_kept[:, None, :] & is_before).sum(axis=-1)
    slots = jnp.arange(action.shape[-1])[None, None]
    is_there = is_kept[:, :, None] & (slot[:, :, None] == slots)
    return jnp.where(is_there, number[None, :, None] + 1, 0).sum(axis=1) - 1


def mix_values(result: jax.Array, score: jax.Array, score_share: float) -> jax.Array:
    """Returns the value `[...]` float32 that the search maximises.

    Results and scores are `[...]` in [-1, 1] for the side to move: 1, 0 or -1, and the final score
    by the largest one of the game. With a share of 0 only the result counts.
    """
    return (1 - score_share) * result + score_share * score


def value_of_score(game: protocol.Game, score: jax.Array, score_share: float) -> jax.Array:
    """Returns the value `[...]` float32 of final scores `[...]`, see `Game.scores`."""
    result = jnp.sign(score).astype(jnp.float32)
    return mix_values(result, score.astype(jnp.float32) / int(game.scores[-1]), score_share)
