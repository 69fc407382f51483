"""The replay buffer: a ring of the latest positions of finished games, on the device.

A position takes 4 bytes per packed word, 1 byte per action and 11 bytes for value, score and
origin: 92 bytes on 8x8, 64 on 6x6. Each device has its own ring and samples only from it, so
nothing is gathered.

Rows are in the order of their entry. A window of the last generations or iterations is therefore a
number of newest rows: `window_starts` counts the rows since the beginning of each.
"""

import dataclasses
import types
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar

import flax.struct
import jax
import jax.numpy as jnp
import pydantic

from azo.games import protocol
from azo.learning import targets, trajectories
from azo.settings import import_paths, setting_types

MAX_WINDOW = 64


class ReplayConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """The replay buffer."""

    capacity: setting_types.PositiveInt = setting_types.never(800_000, is_common=True)
    """Capacity of the replay in positions, over all devices. New positions overwrite the oldest."""
    min_positions: setting_types.PositiveInt = setting_types.in_schedule(8_192)
    """Learning begins when the window holds this many positions, over all devices."""
    window_generations: Annotated[int, pydantic.Field(ge=0, le=MAX_WINDOW)] = (
        setting_types.in_schedule(0)
    )
    """Learn only from this many latest generations, including the current one; 0: from all."""
    window_iterations: Annotated[int, pydantic.Field(ge=0, le=MAX_WINDOW)] = (
        setting_types.in_schedule(0)
    )
    """Learn only from this many latest iterations; 0: from all."""

    sampling: Annotated[str, setting_types.known_or_import_path("uniform")] = (
        setting_types.in_schedule("uniform")
    )
    """How the examples of a batch are drawn: uniform, or MODULE:FUNCTION, see docs/extend.md."""

    FORMER_DEFAULTS: ClassVar[Mapping[str, Any]] = {"capacity": 100_000, "min_positions": 2_000}

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
    """Positions with their targets, in types that are wider once they are taken from the replay.

    On 8x8 each takes 84 bytes there; iteration and actor version take 8 more.
    """

    board: jax.Array  # [R, words] uint32
    policy: jax.Array  # [R, A] uint8, see `trajectories.quantise`; then float32, summing to 1
    value: jax.Array  # [R] float16, then float32, target for the side to move
    score: jax.Array  # [R] int8, then int32, final score for this side, or UNKNOWN_SCORE
    # Fields of options, by name, `[R, ...]`; 0 for examples that are no plies.
    extras: dict[str, jax.Array] = flax.struct.field(default_factory=dict)


@flax.struct.dataclass(kw_only=True)
class NewRows(Examples):
    """Positions to insert, `[...]`; all fields but `is_valid` may lack leading axes."""

    iteration: jax.Array  # [...] int32, iteration in which the position was played
    actor_version: jax.Array  # [...] int32, see `trajectories.Trajectory`
    is_valid: jax.Array  # [...] bool; other positions are left out


@flax.struct.dataclass(kw_only=True)
class ReplayBuffer(Examples):
    """The ring of one device; a whole state has the rings of all `D` devices one after another."""

    iteration: jax.Array  # [R] int32, as in `NewRows`
    actor_version: jax.Array  # [R] int32, likewise
    next_row: jax.Array  # [1] int32, [D] in a whole state: row of the next position
    size: jax.Array  # [1] int32, [D] in a whole state: positions in the ring
    window_starts: jax.Array  # [1, MAX_WINDOW] int32, [D, ...] in a whole state: positions added
    # since the beginning of each of the latest generations or iterations, the present one first


_COLUMNS = ("board", "policy", "value", "score", "iteration", "actor_version", "extras")


Sample = Callable[[ReplayBuffer, jax.Array, int, int], jax.Array]
"""Draws rows `[M]` int32 of one device, given the buffer, a key, the number M, and the window."""


def empty_buffer(
    game: protocol.Game,
    capacity: int,
    *,
    num_devices: int = 1,
    fields: trajectories.Fields = types.MappingProxyType({}),
) -> ReplayBuffer:
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
        extras=trajectories.zeros(fields, capacity),
    )


def labelled_rows(trajectory: trajectories.Trajectory, labels: targets.Labels) -> NewRows:
    """Returns the plies `[T, B]` that are labelled now."""
    return NewRows(
        is_valid=labels.is_new,
        board=trajectory.board,
        policy=trajectory.policy,
        value=labels.value,
        score=labels.score,
        iteration=trajectory.iteration,
        actor_version=trajectory.actor_version,
        extras=trajectory.extras,
    )


def columns(rows: NewRows | ReplayBuffer) -> dict[str, Any]:
    """Returns the arrays that have a row for each position."""
    return {name: getattr(rows, name) for name in _COLUMNS}


def insert(buffer: ReplayBuffer, rows: NewRows) -> ReplayBuffer:
    """Adds the valid rows, in the order of their axes.

    The rows of one index of the first axis are stored at a time: all at once would take 15 MiB of
    code and half a minute of compilation on a TPU.
    """
    shape = rows.is_valid.shape if rows.is_valid.ndim > 1 else (1, *rows.is_valid.shape)
    nothing = {name: jnp.zeros((), x.dtype) for name, x in buffer.extras.items()}
    new_columns = columns(rows) | {"extras": nothing | rows.extras}
    full = jax.tree.map(
        lambda old, new: jnp.broadcast_to(new, (*shape, *old.shape[1:])),
        columns(buffer),
        new_columns,
    )
    ring = columns(buffer), buffer.next_row
    (stored, next_row), _ = jax.lax.scan(_insert_some, ring, (rows.is_valid.reshape(shape), full))
    num_added = rows.is_valid.sum(dtype=jnp.int32)
    return dataclasses.replace(
        buffer,
        **stored,
        next_row=next_row,
        size=jnp.minimum(buffer.size + num_added, buffer.value.shape[0]),
        window_starts=jnp.minimum(buffer.window_starts + num_added, 2**30),
    )


def _insert_some(
    ring: tuple[dict[str, Any], jax.Array], new: tuple[jax.Array, dict[str, Any]]
) -> tuple[tuple[dict[str, Any], jax.Array], None]:
    """Stores the valid ones of some rows in the columns of a ring, from its next row on."""
    (stored, next_row), (is_valid, rows) = ring, new
    is_valid = is_valid.reshape(-1)
    capacity = stored["value"].shape[0]
    place = next_row + jnp.cumsum(is_valid, dtype=jnp.int32) - 1
    row = jnp.where(is_valid, place % capacity, capacity)  # out of range: dropped

    def put(old: jax.Array, new: jax.Array) -> jax.Array:
        values = new.reshape(-1, *old.shape[1:]).astype(old.dtype)
        return old.at[row].set(values, mode="drop")

    next_row = (next_row + is_valid.sum(dtype=jnp.int32)) % capacity
    return (jax.tree.map(put, stored, rows), next_row), None


def begin_iteration(buffer: ReplayBuffer, config: ReplayConfig) -> ReplayBuffer:
    """Returns the rings as an iteration begins, with a separate window if the settings say so."""
    return begin_window(buffer) if config.window_iterations else buffer


def begin_window(buffer: ReplayBuffer) -> ReplayBuffer:
    """Returns the rings as a new generation or iteration begins."""
    window_starts = jnp.roll(buffer.window_starts, 1, axis=-1).at[:, 0].set(0)
    return dataclasses.replace(buffer, window_starts=window_starts)


def num_in_window(buffer: ReplayBuffer, window: int) -> jax.Array:
    """Returns `[D]` int32, positions of the last `window` generations or iterations; 0 for all."""
    if not window:
        return buffer.size
    return jnp.minimum(buffer.size, buffer.window_starts[:, window - 1])


def in_window(buffer: ReplayBuffer, window: int) -> jax.Array:
    """Returns the rows of one device, `[R]` bool, that may be drawn."""
    capacity = buffer.value.shape[0]
    back = (buffer.next_row[0] - 1 - jnp.arange(capacity)) % capacity
    return back < num_in_window(buffer, window)[0]


def sampler(config: ReplayConfig) -> Sample:
    """Returns the function that draws the rows of a batch."""
    if config.sampling == "uniform":
        return draw
    sample: Sample = import_paths.load("replay.sampling", config.sampling)
    return sample


def draw(buffer: ReplayBuffer, key: jax.Array, num_examples: int, window: int = 0) -> jax.Array:
    """Draws rows `[M]` uniformly, with replacement; undefined if the window is empty."""
    back = jax.random.randint(key, (num_examples,), 0, num_in_window(buffer, window)[0])
    return (buffer.next_row[0] - 1 - back) % buffer.value.shape[0]


def take(packed: Examples, row: jax.Array) -> Examples:
    """Returns the positions in rows `[M]`, ready to learn from."""
    return Examples(
        board=packed.board[row],
        policy=trajectories.restore(packed.policy[row]),
        value=packed.value[row].astype(jnp.float32),
        score=packed.score[row].astype(jnp.int32),
        extras={name: x[row] for name, x in packed.extras.items()},
    )


def groups(keys: jax.Array) -> jax.Array:
    """Returns the group `[R]` int32 of each row, from 0 on: rows of equal `keys` `[R, W]`."""
    return jnp.unique(keys, axis=0, return_inverse=True, size=len(keys))[1]
