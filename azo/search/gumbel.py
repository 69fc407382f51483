"""Gumbel AlphaZero (Danihelka et al., 2022, https://openreview.net/forum?id=bERaNdoegnO).

It improves the policy even with few simulations. At the root, moves are sampled without replacement
by adding Gumbel noise `g` to the logits, and sequential halving shares the simulations among them.
Below the root, moves are followed so that their visits approach the improved policy. In the end the
move with the highest `g + logits + sigma(Q)` of those with the most visits is played, and the
improved policy is `softmax(logits + sigma(Q))`, with completed Q.

Q in [-1, 1] is not rescaled. The arithmetic is that of mctx's functions, operation by operation;
`tests/search/test_search_tree.py` compares the visits.
"""

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

from azo.search import search_tree, settings

_LOWEST_SCORE = -1e9  # of a considered move, so that it stays above those that are not considered


@dataclasses.dataclass(frozen=True)
class Gumbel:
    """Gumbel AlphaZero's rules of selection; see `rules.Rule`."""

    config: settings.SearchConfig
    gumbel: jax.Array  # [B, S] float32, the noise at the root, scaled by the temperature
    temperature: jax.Array  # [B] float32
    moves: search_tree.Moves  # [B, S] of the roots
    turns: search_tree.Table  # [B, simulations] int32, see `considered_visits`

    @classmethod
    def begin(
        cls,
        config: settings.SearchConfig,
        key: jax.Array,
        noise_key: jax.Array,
        moves: search_tree.Moves,
        temperature: jax.Array,
        *,
        is_greedy: bool,
    ) -> "Gumbel":
        """See `rules.Rule.begin`. Only the noise makes the choice of a move random."""
        del key, is_greedy  # the temperature of a greedy search is 0
        gumbel = temperature[:, None] * jax.random.gumbel(noise_key, moves.logits.shape)
        considered = considered_visits(config.gumbel.max_considered_actions, config.num_simulations)
        num_legal = moves.is_legal().sum(axis=-1, dtype=jnp.int32)
        num_considered = jnp.minimum(config.gumbel.max_considered_actions, num_legal)
        turns = search_tree.Table(jnp.asarray(considered)[num_considered])
        return cls(config, gumbel, temperature, moves, turns)

    def select_at_root(self, root: search_tree.Node) -> jax.Array:
        """Returns slots `[B]` int32 by sequential halving.

        Of the moves with as many visits as are considered now, the one with the highest score is
        next. The turn of an excluded move goes to another one.
        """
        # Virtual visits are whole numbers in float32; sequential halving indexes by visits.
        visits = root.move_visits.astype(jnp.int32)
        turn = self.turns.at(visits.sum(axis=-1))
        q = self.completed_q(root)
        logits = root.logits - root.logits.max(axis=-1, keepdims=True)
        score = jnp.maximum(_LOWEST_SCORE, self.gumbel + logits + q)
        score = score + jnp.where(visits == turn[:, None], 0, -jnp.inf)
        slot = jnp.argmax(jnp.where(root.is_legal, score, -jnp.inf), axis=-1).astype(jnp.int32)
        return _unless_excluded(slot, root, visits, self.gumbel + self.moves.logits + q)

    def select_below(self, node: search_tree.Node) -> jax.Array:
        """Returns slots `[B]` int32, so that the visits approach the improved policy."""
        improved = jax.nn.softmax(node.logits + self.completed_q(node))
        visits = node.move_visits
        score = improved - visits / (1 + visits.sum(axis=-1, keepdims=True))
        return jnp.argmax(score, axis=-1).astype(jnp.int32)

    def decide(
        self, root: search_tree.Node, is_best: jax.Array, certain: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Returns slots to play `[B]` int32, and improved policies `[B, S]` float32."""
        del certain
        q = self.completed_q(root)
        visits = jnp.where(is_best, root.move_visits, -1)
        is_finalist = is_best & (visits == visits.max(axis=-1, keepdims=True))
        score = jnp.where(is_finalist, self.gumbel + self.moves.logits + q, -jnp.inf)
        slot = jnp.argmax(score, axis=-1).astype(jnp.int32)
        return slot, jax.nn.softmax(search_tree.mask_illegal(self.moves.logits + q, is_best))

    def completed_q(self, node: search_tree.Node) -> jax.Array:
        """Returns sigma(Q) `[B, S]` float32 of all moves.

        Q of an unvisited move is the mixed value of the node (appendix D of the paper). The scale
        grows with the visits: `(c_visit + the most visits of a move) * c_scale`.
        """
        q = jnp.where(node.move_visits > 0, node.q, _mixed_value(node)[:, None])
        scale = settings.VISIT_OFFSET + node.move_visits.max(axis=-1, keepdims=True)
        return scale * self.config.gumbel.value_scale * q


def _mixed_value(node: search_tree.Node) -> jax.Array:
    """Returns `[B]` float32: the raw value, and the mean Q of visited moves by their prior."""
    is_visited = node.move_visits > 0
    prior = jax.nn.softmax(node.logits)
    prior = jnp.maximum(jnp.finfo(prior.dtype).tiny, prior)
    total = jnp.where(is_visited, prior, 0.0).sum(axis=-1, keepdims=True)
    share = prior * node.q / jnp.where(is_visited, total, 1.0)
    mean_q = jnp.where(is_visited, share, 0.0).sum(axis=-1)
    num_visits = node.move_visits.sum(axis=-1)
    return (node.raw_value + num_visits * mean_q) / (num_visits + 1)


@functools.cache
def considered_visits(most_considered: int, num_simulations: int) -> np.ndarray:
    """Returns the table of sequential halving, `[most_considered + 1, num_simulations]` int32.

    Entry `[m, i]` is the number of visits of the moves that may get simulation `i` if `m` moves
    share the simulations (Karnin et al., 2013, http://proceedings.mlr.press/v28/karnin13.pdf).
    """
    rows = [_halving(num_moves, num_simulations) for num_moves in range(most_considered + 1)]
    return np.array(rows, np.int32)


def _halving(num_moves: int, num_simulations: int) -> list[int]:
    if num_moves <= 1:
        return list(range(num_simulations))
    num_rounds, left = math.ceil(math.log2(num_moves)), num_moves
    visits, sequence = [0] * num_moves, list[int]()
    while len(sequence) < num_simulations:
        # Each round has an equal share of the simulations; then the worse half drops out.
        for _ in range(max(1, num_simulations // (num_rounds * left))):
            sequence += visits[:left]
            visits[:left] = [count + 1 for count in visits[:left]]
        left = max(2, left // 2)
    return sequence[:num_simulations]


def _unless_excluded(
    slot: jax.Array, root: search_tree.Node, visits: jax.Array, score: jax.Array
) -> jax.Array:
    """Returns the slots `[B]` that sequential halving selected, others in place of excluded moves.

    The turn of an excluded move goes to the best of the moves with the next higher number of
    visits, and to the best of all moves if none has more.
    """
    is_open = root.is_open()
    turn = search_tree.in_slot(visits, slot)
    more = jnp.where(is_open & (visits >= turn[:, None]), visits, settings.MAX_SIMULATIONS)
    is_next = is_open & (visits == more.min(axis=-1, keepdims=True))
    is_next = jnp.where(search_tree.has_any(is_next), is_next, is_open)
    other = jnp.argmax(jnp.where(is_next, score, -jnp.inf), axis=-1).astype(slot.dtype)
    return jnp.where(search_tree.in_slot(is_open, slot), slot, other)
