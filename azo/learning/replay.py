"""The replay buffer: a ring of the latest positions of finished games, on the device.

A position takes 4 bytes a packed word, 1 byte an action and 11 bytes for value, score and origin:
92 bytes on 8x8, 64 on 6x6. Each device has its own ring and samples from it alone, so nothing is
gathered.

Rows are in the order of their entry. A window of the last generations or iterations is therefore a
number of newest rows: `window_starts` counts the rows since the beginning of each.
"""

import dataclasses
import functools
from typing import Annotated, Any

import flax.struct
import jax
import jax.numpy as jnp
import pydantic

from azo.games import protocol
from azo.learning import endings, ply_records, targets
from azo.search import explored, search_tree
from azo.settings import setting_types

MAX_WINDOW = 64


class ReplayConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """The replay buffer."""

    capacity: setting_types.PositiveInt = setting_types.never(100_000, is_common=True)
    """Positions in the buffer, over all devices; new positions overwrite the oldest."""
    min_positions: setting_types.PositiveInt = setting_types.in_schedule(2_000)
    """Positions in the window before learning begins, over all devices."""
    window_generations: Annotated[int, pydantic.Field(ge=0, le=MAX_WINDOW)] = (
        setting_types.in_schedule(0)
    )
    """Learn only from this many last generations, the present one included; 0: from all."""
    window_iterations: Annotated[int, pydantic.Field(ge=0, le=MAX_WINDOW)] = (
        setting_types.in_schedule(0)
    )
    """Learn only from this many last iterations; 0: from all."""

    @pydantic.model_validator(mode="after")
    def _check_one_window(self) -> "ReplayConfig":
        if self.window_generations and self.window_iterations:
            raise ValueError(
                "window_generations and window_iterations are both set: set one of them to 0"
            )
        return self

    @property
    def window(self) -> int:
        """Generations or iterations to learn from; 0 for all."""
        return self.window_generations or self.window_iterations


@flax.struct.dataclass
class Examples:
    """Positions with their targets: stored in 84 bytes each on 8x8, wider once they are taken."""

    board: jax.Array  # [R, words] uint32
    policy: jax.Array  # [R, A] uint8, see `ply_records.quantise`; then float32, summing to 1
    value: jax.Array  # [R] float16, then float32, target for the side to move
    score: jax.Array  # [R] int8, then int32, final score for this side, or UNKNOWN_SCORE


@flax.struct.dataclass
class Rows(Examples):
    """Positions of self-play."""

    iteration: jax.Array  # [R] int32, iteration in which the position was played
    actor_version: jax.Array  # [R] int32, see `ply_records.Plies`


@flax.struct.dataclass
class ReplayBuffer(Rows):
    """The ring of one device; a whole state has the rings of all `D` devices one after another."""

    next_row: jax.Array  # [1] int32, [D] in a whole state: row of the next position
    size: jax.Array  # [1] int32, [D] in a whole state: positions in the ring
    window_starts: jax.Array  # [1, MAX_WINDOW] int32, [D, ...] in a whole state: positions added
    # since the beginning of each of the latest generations or iterations, the present one first


@flax.struct.dataclass
class NewRows(Rows):
    """Positions to insert; the other fields may lack leading axes."""

    is_valid: jax.Array  # [...] bool; other positions are left out


def empty_buffer(game: protocol.Game, capacity: int, *, num_devices: int = 1) -> ReplayBuffer:
    """Returns empty rings with `capacity` rows in total."""
    return ReplayBuffer(
        board=jnp.zeros((capacity, game.packed_words), jnp.uint32),
        policy=jnp.zeros((capacity, game.num_actions), jnp.uint8),
        value=jnp.zeros(capacity, jnp.float16),
        score=jnp.zeros(capacity, jnp.int8),
        iteration=jnp.zeros(capacity, jnp.int32),
        actor_version=jnp.zeros(capacity, jnp.int32),
        next_row=jnp.zeros(num_devices, jnp.int32),
        size=jnp.zeros(num_devices, jnp.int32),
        window_starts=jnp.zeros((num_devices, MAX_WINDOW), jnp.int32),
    )


def played_rows(finalised: ply_records.FinalisedPlies, value: jax.Array) -> NewRows:
    """Returns the plies `[W, B]` whose game has ended now; `value` `[W, B]` is their target."""
    plies = finalised.plies
    return NewRows(
        is_valid=finalised.is_ready,
        board=plies.board,
        policy=plies.policy,
        value=value,
        score=finalised.score,
        iteration=plies.iteration,
        actor_version=plies.actor_version,
    )


def explored_rows(
    positions: explored.ExploredPositions, iteration: jax.Array, actor_version: jax.Array
) -> NewRows:
    """Returns positions `[T, M]` that were searched but not played, with the search's values."""
    return NewRows(
        is_valid=positions.is_valid,
        board=positions.board,
        policy=ply_records.quantise(positions.policy),
        value=positions.value,
        score=jnp.int8(ply_records.UNKNOWN_SCORE),
        iteration=iteration,
        actor_version=actor_version,
    )


def exact_rows(
    game: protocol.Game,
    lines: endings.ExactLines,
    iteration: jax.Array,
    actor_version: jax.Array,
    *,
    score_share: float,
) -> NewRows:
    """Returns solved positions `[K, M]` with their scores and best moves."""
    return NewRows(
        is_valid=lines.is_valid,
        board=lines.board,
        policy=lines.policy,
        value=search_tree.value_of_score(game, lines.score, score_share),
        score=lines.score,
        iteration=iteration,
        actor_version=actor_version,
    )


def insert(buffer: ReplayBuffer, rows: NewRows) -> ReplayBuffer:
    """Adds the valid rows, in the order of their axes."""
    is_valid = rows.is_valid.reshape(-1)
    capacity = buffer.value.shape[0]
    place = buffer.next_row + jnp.cumsum(is_valid) - 1
    row = jnp.where(is_valid, place % capacity, capacity)  # out of range: dropped

    def put(old: jax.Array, new: jax.Array) -> jax.Array:
        full = jnp.broadcast_to(new, (*rows.is_valid.shape, *old.shape[1:]))
        return old.at[row].set(full.reshape(-1, *old.shape[1:]).astype(old.dtype), mode="drop")

    num_added = is_valid.sum(dtype=jnp.int32)
    return dataclasses.replace(
        buffer,
        **jax.tree.map(put, _columns(buffer), _columns(rows)),
        next_row=(buffer.next_row + num_added) % capacity,
        size=jnp.minimum(buffer.size + num_added, capacity),
        window_starts=jnp.minimum(buffer.window_starts + num_added, 2**30),
    )


def begin_window(buffer: ReplayBuffer) -> ReplayBuffer:
    """Returns the rings as a new generation or iteration begins."""
    window_starts = jnp.roll(buffer.window_starts, 1, axis=-1).at[:, 0].set(0)
    return dataclasses.replace(buffer, window_starts=window_starts)


def num_in_window(buffer: ReplayBuffer, window: int) -> jax.Array:
    """Returns `[D]` int32, positions of the last `window` generations or iterations; 0 for all."""
    if not window:
        return buffer.size
    return jnp.minimum(buffer.size, buffer.window_starts[:, window - 1])


def draw(buffer: ReplayBuffer, key: jax.Array, num_examples: int, window: int = 0) -> jax.Array:
    """Draws rows `[M]` uniformly, with replacement; undefined if the window is empty."""
    back = jax.random.randint(key, (num_examples,), 0, num_in_window(buffer, window)[0])
    return (buffer.next_row[0] - 1 - back) % buffer.value.shape[0]


def take(packed: Examples, row: jax.Array) -> Examples:
    """Returns the positions in rows `[M]`, ready to learn from."""
    return Examples(
        board=packed.board[row],
        policy=ply_records.restore(packed.policy[row]),
        value=packed.value[row].astype(jnp.float32),
        score=packed.score[row].astype(jnp.int32),
    )


def averaged(buffer: ReplayBuffer, config: targets.TargetsConfig) -> ReplayBuffer:
    """Returns the buffer with policies and values of duplicates averaged.

    Copies of a position with the same actor version all get the mean over these copies. Each copy
    keeps its row, so a position keeps the weight of its copies.
    """
    if config.average_duplicates == "none":
        return buffer
    version = buffer.actor_version[:, None].astype(jnp.uint32)
    is_used = jnp.arange(buffer.value.shape[0]) < buffer.size[0]
    group = duplicates(jnp.concatenate([buffer.board, version, ~is_used[:, None]], axis=1))
    value = buffer.value[:, None].astype(jnp.float32)
    both = jnp.concatenate([ply_records.restore(buffer.policy), value], axis=1)
    total = functools.partial(jax.ops.segment_sum, segment_ids=group, num_segments=len(group))
    means = (total(both) / total(jnp.ones_like(value)))[group]
    return dataclasses.replace(
        buffer,
        policy=jnp.where(is_used[:, None], ply_records.quantise(means[:, :-1]), 0),
        value=means[:, -1].astype(buffer.value.dtype),
    )


def duplicates(keys: jax.Array) -> jax.Array:
    """Returns the group `[R]` int32 of each row, from 0 on: rows of equal `keys` `[R, W]`."""
    return jnp.unique(keys, axis=0, return_inverse=True, size=len(keys))[1]


def _columns(rows: Rows) -> dict[str, Any]:
    """Returns the arrays that have a row for each position."""
    return {field.name: getattr(rows, field.name) for field in dataclasses.fields(Rows)}
