"""The replay ring: the latest positions of finished games, on the device.

A position takes 4 bytes a packed word, 1 byte an action and 2 bytes for its value: 83 bytes on
8x8, 55 on 6x6. Plies whose games are still under way wait in `History`, which takes another 13
bytes a ply. Each device has a ring of its own and samples from it alone, so nothing is gathered.
"""

from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import pydantic

from azo.games import protocol
from azo.learning import selfplay, targets


class ReplayConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """What is kept to learn from."""

    capacity: pydantic.PositiveInt = 100_000
    """Positions kept, over all devices; the oldest are overwritten."""
    min_positions: pydantic.PositiveInt = 2_000
    """Positions there must be before learning begins, over all devices."""


@flax.struct.dataclass
class Replay:
    """The ring of one device; in a whole state, those of all `D` devices one after another."""

    board: jax.Array  # [R, words] uint32
    policy: jax.Array  # [R, A] uint8, see `selfplay.quantise`
    value: jax.Array  # [R] float16, final result for the side to move
    next_row: jax.Array  # [1] int32, [D] in a whole state: where the next position goes
    size: jax.Array  # [1] int32, [D] in a whole state: positions in the ring


@flax.struct.dataclass
class History:
    """The latest plies, long enough for any game, until their results are known."""

    plies: selfplay.Plies  # [L, B]
    is_waiting: jax.Array  # [L, B] bool, played, and not yet in the ring


@flax.struct.dataclass
class Examples:
    """Positions to learn from."""

    board: jax.Array  # [M, words] uint32
    policy: jax.Array  # [M, A] float32, summing to 1
    value: jax.Array  # [M] float32, for the side to move


def empty_ring(game: protocol.Game, capacity: int) -> Replay:
    """Returns a ring without positions."""
    return Replay(
        board=jnp.zeros((capacity, game.packed_words), jnp.uint32),
        policy=jnp.zeros((capacity, game.num_actions), jnp.uint8),
        value=jnp.zeros(capacity, jnp.float16),
        next_row=jnp.zeros(1, jnp.int32),
        size=jnp.zeros(1, jnp.int32),
    )


def empty_history(game: protocol.Game, num_games: int) -> History:
    """Returns a history in which nothing waits."""
    shape = (game.max_plies, num_games)
    plies = selfplay.Plies(
        board=jnp.zeros((*shape, game.packed_words), jnp.uint32),
        policy=jnp.zeros((*shape, game.num_actions), jnp.uint8),
        ply=jnp.zeros(shape, jnp.int32),
        reward=jnp.zeros(shape),
        discount=jnp.full(shape, -1.0, jnp.float32),
    )
    return History(plies=plies, is_waiting=jnp.zeros(shape, bool))


def add(replay: Replay, history: History, plies: selfplay.Plies) -> tuple[Replay, History]:
    """Adds every position whose result these plies `[T, B]` bring, and keeps the rest waiting."""
    window = jax.tree.map(lambda old, new: jnp.concatenate([old, new]), history.plies, plies)
    is_new = jnp.ones(plies.reward.shape, bool)
    is_waiting = jnp.concatenate([history.is_waiting, is_new])
    is_ready = is_waiting & targets.is_decided(window.discount)
    value = targets.outcome_targets(window.reward, window.discount)

    row = _ring_rows(replay, is_ready.reshape(-1))
    num_ready = is_ready.sum(dtype=jnp.int32)
    capacity = replay.value.shape[0]
    replay = Replay(
        board=_put(replay.board, row, window.board),
        policy=_put(replay.policy, row, window.policy),
        value=_put(replay.value, row, value.astype(replay.value.dtype)),
        next_row=(replay.next_row + num_ready) % capacity,
        size=jnp.minimum(replay.size + num_ready, capacity),
    )
    length = history.is_waiting.shape[0]
    latest = jax.tree.map(lambda x: x[-length:], (window, is_waiting & ~is_ready))
    return replay, History(*latest)


def sample(replay: Replay, key: jax.Array, num_examples: int) -> Examples:
    """Draws positions uniformly, with replacement; undefined if the ring is empty."""
    row = jax.random.randint(key, (num_examples,), 0, replay.size[0])
    return Examples(
        board=replay.board[row],
        policy=selfplay.restore(replay.policy[row]),
        value=replay.value[row].astype(jnp.float32),
    )


def redistribute(replay: Replay, num_devices: int) -> Replay:
    """Returns the positions of all rings in those of another number of devices.

    They are dealt in turn from the oldest to the newest, by their age within their ring: rings fill
    alike, so that is nearly the order of their entry. No position is lost, as the rings have as
    many rows together as before.

    Args:
      replay: of a whole state; not for use within `shard_map`.
      num_devices: of the new rings; divides the rows.
    """
    num_rows = replay.value.shape[0]
    old, new = num_rows // replay.size.shape[0], num_rows // num_devices
    ring, place = jnp.divmod(jnp.arange(num_rows), old)
    age = (replay.next_row[ring] - 1 - place) % old
    is_used = age < replay.size[ring]
    in_order = jnp.argsort(jnp.where(is_used, -age, 1), stable=True)  # rows without position last
    row = in_order.reshape(new, num_devices).T.reshape(-1)
    size = (replay.size.sum() + jnp.arange(num_devices)[::-1]) // num_devices
    return Replay(
        board=replay.board[row],
        policy=replay.policy[row],
        value=replay.value[row],
        next_row=size % new,
        size=size,
    )


def _ring_rows(replay: Replay, is_added: jax.Array) -> jax.Array:
    """Returns the row of each entry that is added, and a row out of range for the others."""
    capacity = replay.value.shape[0]
    place = replay.next_row + jnp.cumsum(is_added) - 1
    return jnp.where(is_added, place % capacity, capacity)


def _put(ring: jax.Array, row: jax.Array, entries: Any) -> jax.Array:
    flat = entries.reshape(row.shape[0], *ring.shape[1:])
    return ring.at[row].set(flat, mode="drop")
