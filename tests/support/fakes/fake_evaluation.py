"""Stand-ins for a network and for a game, with exactly computable search results."""

import dataclasses
import functools

import flax.struct
import jax
import jax.numpy as jnp

from azo.games import protocol
from azo.search import improvement


@functools.cache
def hashed(game: protocol.Game) -> improvement.Evaluate:
    """Returns an evaluation by a hash of the position: arbitrary, but always the same.

    Logits lie in [-2, 2), values in [-0.9, 0.9), scores in [-0.5, 0.5): no two moves are alike, so
    nothing is tied.
    """

    def evaluate(key: jax.Array, position: protocol.Position) -> improvement.Evaluation:
        del key
        packed = game.pack(position)
        state = jnp.full(packed.shape[:-1], 12345, jnp.uint32)
        for word in range(packed.shape[-1]):
            state = _mix(state ^ packed[..., word])
        actions = jnp.arange(1, game.num_actions + 1, dtype=jnp.uint32)
        by_action = _mix(jnp.expand_dims(state, -1) + _along_last(actions, state.ndim))
        return improvement.Evaluation(
            prior_logits=4 * _fraction(by_action) - 2,
            value=1.8 * _fraction(state) - 0.9,
            score=_fraction(_mix(state)) - 0.5,
        )

    return evaluate


@functools.partial(jax.jit, static_argnames=("game", "config", "is_greedy"))
def search(game, position, config, *, is_greedy=True) -> improvement.SearchResult:
    """Searches by `hashed` with the key 0."""
    key = jax.random.key(0)
    return improvement.search(game, hashed(game), key, position, config=config, is_greedy=is_greedy)


@flax.struct.dataclass
class BanditPosition:
    """Where a game of `Bandit` stands."""

    legal: jax.Array  # [..., A] bool, the same at every ply
    first_action: jax.Array  # [...] int32, -1 at the root
    ply: jax.Array  # [...] int32


@dataclasses.dataclass(frozen=True)
class Bandit:
    """A game without end in which only the first move matters; what `policy.search` needs of it."""

    num_actions: int

    @property
    def max_legal(self) -> int:
        return self.num_actions

    num_slots = max_legal

    def root(self, legal: jax.Array) -> BanditPosition:
        zeros = jnp.zeros(legal.shape[:-1], jnp.int32)
        return BanditPosition(legal=legal, first_action=zeros - 1, ply=zeros)

    def legal_mask(self, position: BanditPosition) -> jax.Array:
        return position.legal

    def legal_actions(self, position: BanditPosition, num_slots: int) -> jax.Array:
        return protocol.actions_from_mask(position.legal, num_slots)

    def is_over(self, position: BanditPosition) -> jax.Array:
        return jnp.zeros(position.ply.shape, bool)

    def result(self, position: BanditPosition) -> jax.Array:
        return jnp.zeros(position.ply.shape)

    def step(self, position: BanditPosition, action: jax.Array) -> protocol.Step:
        first_action = jnp.where(position.ply == 0, action, position.first_action)
        after = BanditPosition(position.legal, first_action, position.ply + 1)
        return protocol.Step(after, self.result(after), self.result(after) - 1)


def arms(logits: jax.Array, q: jax.Array, root_value: jax.Array) -> improvement.Evaluate:
    """Returns an evaluation of `Bandit` with the same logits `[B, A]` everywhere.

    Whatever follows, a first move is worth exactly `q` `[B, A]` to the side that made it; the
    root's own value `[B]` may be wrong.
    """

    def evaluate(key: jax.Array, position: BanditPosition) -> improvement.Evaluation:
        del key
        first = jnp.maximum(position.first_action, 0)
        worth = jnp.take_along_axis(q, first[:, None], axis=1)[:, 0]
        value = jnp.where(position.ply % 2 == 1, -worth, worth)
        return improvement.Evaluation(logits, jnp.where(position.ply == 0, root_value, value))

    return evaluate


def _mix(x: jax.Array) -> jax.Array:
    """Returns uint32 scrambled, as MurmurHash3 (Appleby, public domain) ends."""
    x = (x ^ (x >> 16)) * jnp.uint32(0x85EBCA6B)
    x = (x ^ (x >> 13)) * jnp.uint32(0xC2B2AE35)
    return x ^ (x >> 16)


def _fraction(x: jax.Array) -> jax.Array:
    return (x >> 8).astype(jnp.float32) / 2**24


def _along_last(x: jax.Array, num_leading: int) -> jax.Array:
    return x.reshape((1,) * num_leading + x.shape)
