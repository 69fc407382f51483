"""Positions of a search that were not played, as further training examples.

OLIVAW (Norelli and Panconesi, 2021, arXiv:2103.17228) learns from the most visited ones, as many as
there are played positions, with the search's value in place of the game's result.
"""

import flax.struct
import jax
import jax.numpy as jnp

from azo.games import protocol
from azo.search import search_tree


@flax.struct.dataclass
class ExploredPositions:
    """Positions of a search. Rows that are not valid are finite, but meaningless."""

    board: jax.Array  # [M, words] uint32, packed
    policy: jax.Array  # [M, A] float32, the moves' shares of the visits
    value: jax.Array  # [M] float32, mean value of the visits, for the side to move
    visits: jax.Array  # [M] int32
    is_valid: jax.Array  # [M] bool, false if there were fewer positions


def most_visited(
    game: protocol.Game, tree: search_tree.Tree, action: jax.Array, num_positions: int
) -> ExploredPositions:
    """Returns the most visited unplayed positions of all trees together, in descending order.

    Ties go to the lowest tree, then to the lowest node. Excluded are roots, positions behind the
    move played, which the next search explores more deeply, and positions from which no move was
    visited: finished games, unused nodes and nodes visited once.

    The moves played are `action` `[B]` int32; `num_positions` is at most the number of nodes.
    """
    has_children = (tree.child != search_tree.UNVISITED).any(axis=-1)
    is_root = jnp.arange(tree.visits.shape[1])[None] == 0
    is_candidate = has_children & ~is_root & ~_is_behind(tree, action)
    visits = jnp.where(is_candidate, tree.visits, 0)
    # Among equal entries `top_k` returns the lowest index first.
    visits, index = jax.lax.top_k(visits.reshape(-1), num_positions)
    row, node = jnp.divmod(index, tree.visits.shape[1])
    position, moves, child = jax.tree.map(
        lambda x: x[row, node], (tree.position, tree.moves, tree.child)
    )
    child_visits = tree.visits[row[:, None], jnp.maximum(child, 0)]
    move_visits = jnp.where(child != search_tree.UNVISITED, child_visits, 0)
    shares = move_visits / jnp.maximum(move_visits.sum(axis=-1, keepdims=True), 1)
    return ExploredPositions(
        board=game.pack(position),
        policy=moves.spread(shares, game.num_actions),
        value=tree.value()[row, node],
        visits=visits,
        is_valid=visits > 0,
    )


def _is_behind(tree: search_tree.Tree, action: jax.Array) -> jax.Array:
    """Returns `[B, N]` bool, the nodes behind the roots' moves `[B]`, at any depth."""
    num_nodes = tree.visits.shape[1]
    is_played = tree.moves.action[:, 0] == action[:, None]
    played = jnp.where(is_played, tree.child[:, 0], search_tree.UNVISITED)
    played = played.max(axis=-1, keepdims=True)
    nodes = jnp.arange(num_nodes)[None]
    # The played node is its own ancestor, like the root. Each jump doubles the distance upwards.
    above = jnp.where(nodes == played, nodes, jnp.maximum(tree.parent.astype(jnp.int32), 0))

    def jump(_: jax.Array, above: jax.Array) -> jax.Array:
        return jnp.take_along_axis(above, above, axis=1)

    above = jax.lax.fori_loop(0, (num_nodes - 1).bit_length(), jump, above)
    return above == played
