"""PUCT, the search of AlphaZero (Silver et al., 2017, arXiv:1712.01815).

At every node the move with the highest `Q + U` is followed, where `U` grows with the prior `P` and
falls with the visits `n` of the move. In the formulas:

* N is the number of visits to the node, its own evaluation included.
* n is the number of visits to the node behind a move.
* Q in [-1, 1] is the mean value of a move for the side to move, not rescaled.

N and n include virtual losses, and are then not always integers. Ties go to the lowest action. At
the root, noise is mixed into the prior. In the end a move is drawn by its visits, or the most
visited one is played, and the shares of the visits are the improved policy.
"""

import dataclasses

import jax
import jax.numpy as jnp

from azo.search import search_tree, settings
from azo.settings import setting_types

# Moves sampled by Q: at temperature 1 this difference in Q makes a move e times likelier.
Q_UNIT = 0.1


@dataclasses.dataclass(frozen=True)
class Puct:
    """AlphaZero's rule of selection; see `rules.Rule`."""

    config: settings.SearchConfig
    key: jax.Array
    temperature: jax.Array  # [B] float32, 0 for the best move
    moves: search_tree.Moves  # [B, S] of the roots, with noise in their prior

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
    ) -> "Puct":
        """See `rules.Rule.begin`."""
        if not is_greedy and not setting_types.is_zero(config.puct.root_noise_fraction):
            moves = with_noise(noise_key, moves, config)
        return cls(config, key, temperature, moves)

    def select_at_root(self, root: search_tree.Node) -> jax.Array:
        """Returns slots `[B]` int32: the root has no special rule."""
        return self.select_below(root)

    def select_below(self, node: search_tree.Node) -> jax.Array:
        """Returns `[B]` int32, the slot with the highest `Q + c_puct * P * sqrt(N) / (1 + n)`.

        Q of an unvisited move is the value of the node so far. Since N counts the node's own
        evaluation, the prior decides from the first move on.
        """
        q = jnp.where(node.move_visits > 0, node.q, node.value[:, None])
        prior = jnp.exp(node.logits)
        explore = self.config.puct.c_puct * prior * jnp.sqrt(node.visits)[:, None]
        return _best(q + explore / (1 + node.move_visits), node.is_open())

    def decide(
        self, root: search_tree.Node, is_best: jax.Array, certain: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Returns slots to play `[B]` int32, and improved policies `[B, S]` float32.

        A proven move takes no further visits. So a move whose Q is below what is certain counts 0,
        and if all moves that may be played have no visit, each counts one.
        """
        config, visits = self.config, root.move_visits
        if config.has_proofs:
            visits = jnp.where(is_best & (root.q >= certain[:, None]), visits, 0)
            has_any = visits.any(axis=-1, keepdims=True)
            visits = jnp.where(has_any, visits, is_best.astype(visits.dtype))
        scale = jnp.where(self.temperature > 0, self.temperature, 1.0)[:, None]
        if config.puct.move_choice == "visits":
            logits = jnp.where(visits > 0, jnp.log(jnp.maximum(visits, 1)), -jnp.inf)
            score = jnp.where(self.moves.is_legal(), visits, -1)
        else:
            is_much_visited = visits >= settings.MUCH_VISITED * visits.max(axis=-1, keepdims=True)
            score = jnp.where(is_much_visited & (visits > 0), root.q, -jnp.inf)
            logits = score / Q_UNIT
        sampled = jax.random.categorical(self.key, logits / scale)
        slot = jnp.where(self.temperature > 0, sampled, jnp.argmax(score, axis=-1))
        return slot, visits / visits.sum(axis=-1, keepdims=True)


class PuctOverVisits(Puct):
    """PUCT that visits every move once, in the order of the prior."""

    def select_below(self, node: search_tree.Node) -> jax.Array:
        """Returns `[B]` int32, the slot with the highest `Q + c_puct * P * sqrt(N) / n`."""
        # The score of an unvisited move is not used.
        visits = jnp.where(node.move_visits > 0, node.move_visits, 1)
        explore = self.config.puct.c_puct * jnp.exp(node.logits) * jnp.sqrt(node.visits)[:, None]
        is_unvisited = node.is_open() & (node.move_visits == 0)
        likeliest = _best(node.logits, is_unvisited)
        best = _best(node.q + explore / visits, node.is_open())
        return jnp.where(search_tree.has_any(is_unvisited)[:, 0], likeliest, best)


def with_noise(
    key: jax.Array, moves: search_tree.Moves, config: settings.SearchConfig
) -> search_tree.Moves:
    """Returns moves `[B, S]` with noise mixed into their prior, which still sums to 1.

    The noise is drawn over the legal moves, as in the paper. mctx draws it over all actions and
    masks the illegal ones, so most of the noise is lost: with 10 legal moves of 65 the effective
    share is 5 % instead of 25 %.
    """
    legal, alpha = moves.is_legal(), config.puct.root_noise_alpha
    usual = jnp.minimum(1.0, 10.0 / legal.sum(axis=-1, keepdims=True))
    alphas = usual if alpha is None else jnp.float32(alpha)
    log_gamma = jax.random.loggamma(key, jnp.broadcast_to(alphas, legal.shape))
    noise = jax.nn.softmax(jnp.where(legal, log_gamma, -jnp.inf))
    fraction = config.puct.root_noise_fraction
    prior = (1 - fraction) * jnp.exp(moves.logits) + fraction * noise
    tiny = jnp.finfo(prior.dtype).tiny
    logits = jnp.where(legal, jnp.log(jnp.maximum(prior, tiny)), moves.logits)
    return dataclasses.replace(moves, logits=logits)


def _best(score: jax.Array, is_allowed: jax.Array) -> jax.Array:
    return jnp.argmax(jnp.where(is_allowed, score, -jnp.inf), axis=-1).astype(jnp.int32)
