"""The replay ring: the latest positions of finished games, on the device.

A position takes 4 bytes a packed word, 1 byte an action and 10 bytes for its value and origin: 91
bytes on 8x8, 63 on 6x6; final boards for ownership and margin add 4 bytes a word and one. Each
device has a ring of its own and samples from it alone, so nothing is gathered.

Rows are in the order of their entry, so a window of the last generations or iterations is the
newest so many rows: `window_starts` remembers how many rows there were when each of them began.
"""

import dataclasses
from typing import Annotated, Any

import flax.struct
import jax
import jax.numpy as jnp
import pydantic

from azo.games import protocol, symmetry
from azo.learning import duplicates, endings, pending_plies, selfplay, targets
from azo.search import explored

MAX_WINDOW = 64


class ReplayConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """What is kept to learn from."""

    capacity: pydantic.PositiveInt = 100_000
    """Positions kept, over all devices; the oldest are overwritten."""
    min_positions: pydantic.PositiveInt = 2_000
    """Positions there must be in the window before learning begins, over all devices."""
    window_generations: Annotated[int, pydantic.Field(ge=0, le=MAX_WINDOW)] = 0
    """Learn from the last so many generations only, the present one included; 0: from all."""
    window_iterations: Annotated[int, pydantic.Field(ge=0, le=MAX_WINDOW)] = 0
    """Learn from the last so many iterations only; 0: from all."""

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
class ReplayBuffer:
    """The ring of one device; in a whole state, those of all `D` devices one after another."""

    board: jax.Array  # [R, words] uint32
    policy: jax.Array  # [R, A] uint8, see `selfplay.quantise`
    value: jax.Array  # [R] float16, what is to be learned, for the side to move
    iteration: jax.Array  # [R] int32, when the position was played
    actor_version: jax.Array  # [R] int32, see `selfplay.Plies`
    final: pending_plies.FinalBoards | None  # [R], if ownership or margin are learned
    next_row: jax.Array  # [1] int32, [D] in a whole state: where the next position goes
    size: jax.Array  # [1] int32, [D] in a whole state: positions in the ring
    window_starts: (
        jax.Array
    )  # [1, MAX_WINDOW] int32, [D, ...] in a whole state: positions added since each
    # of the latest generations or iterations began, the present one first


@flax.struct.dataclass
class Examples:
    """Positions to learn from."""

    board: jax.Array  # [M, words] uint32
    policy: jax.Array  # [M, A] float32, summing to 1
    value: jax.Array  # [M] float32, for the side to move
    ownership: jax.Array | None = None  # [M, squares] float32, final discs: 1 the mover's, -1, 0
    is_finished: jax.Array | None = None  # [M] float32, 1 where the final board is known, else 0


def empty_buffer(
    game: protocol.Game, capacity: int, *, has_final: bool = False, num_devices: int = 1
) -> ReplayBuffer:
    """Returns rings without positions, of `capacity` rows together."""
    final = pending_plies.FinalBoards(
        board=jnp.zeros((capacity, game.packed_words), jnp.uint32),
        sign=jnp.zeros(capacity, jnp.int8),
    )
    return ReplayBuffer(
        board=jnp.zeros((capacity, game.packed_words), jnp.uint32),
        policy=jnp.zeros((capacity, game.num_actions), jnp.uint8),
        value=jnp.zeros(capacity, jnp.float16),
        iteration=jnp.zeros(capacity, jnp.int32),
        actor_version=jnp.zeros(capacity, jnp.int32),
        final=final if has_final else None,
        next_row=jnp.zeros(num_devices, jnp.int32),
        size=jnp.zeros(num_devices, jnp.int32),
        window_starts=jnp.zeros((num_devices, MAX_WINDOW), jnp.int32),
    )


def add_played(
    game: protocol.Game,
    replay: ReplayBuffer,
    finalised: pending_plies.FinalisedPlies,
    value: jax.Array,
) -> ReplayBuffer:
    """Adds the positions that are ready; `value` `[W, B]` is what they are to teach."""
    plies = finalised.plies
    final = None if replay.final is None else pending_plies.final_boards(game, finalised)
    entries = {
        "board": plies.board,
        "policy": plies.policy,
        "value": value.astype(replay.value.dtype),
        "iteration": plies.iteration,
        "actor_version": plies.actor_version,
        "final": final,
    }
    return _add(replay, finalised.is_ready & plies.is_example, entries)


def add_explored(
    replay: ReplayBuffer,
    found: explored.ExploredPositions,
    *,
    iteration: jax.Array,
    actor_version: jax.Array,
) -> ReplayBuffer:
    """Adds positions `[T, M]` that were searched but not played, with the search's own values."""
    shape = found.is_valid.shape
    unknown = jax.tree.map(lambda x: jnp.zeros((*shape, *x.shape[1:]), x.dtype), replay.final)
    entries = {
        "board": found.board,
        "policy": selfplay.quantise(found.policy),
        "value": found.value.astype(replay.value.dtype),
        "iteration": jnp.full(shape, iteration, jnp.int32),
        "actor_version": jnp.full(shape, actor_version, jnp.int32),
        "final": unknown,
    }
    return _add(replay, found.is_valid, entries)


def add_exact(
    replay: ReplayBuffer,
    lines: endings.ExactLines,
    *,
    iteration: jax.Array,
    actor_version: jax.Array,
) -> ReplayBuffer:
    """Adds solved positions, with their results and best moves."""
    shape = lines.is_valid.shape
    final = None
    if replay.final is not None:
        end = jnp.broadcast_to(lines.end[None], lines.board.shape)
        final = pending_plies.FinalBoards(board=end, sign=lines.sign)
    entries = {
        "board": lines.board,
        "policy": lines.policy,
        "value": lines.value.astype(replay.value.dtype),
        "iteration": jnp.full(shape, iteration, jnp.int32),
        "actor_version": jnp.full(shape, actor_version, jnp.int32),
        "final": final,
    }
    return _add(replay, lines.is_valid, entries)


def begin_window(replay: ReplayBuffer) -> ReplayBuffer:
    """Returns the rings as a new generation or iteration begins."""
    window_starts = jnp.roll(replay.window_starts, 1, axis=-1).at[:, 0].set(0)
    return dataclasses.replace(replay, window_starts=window_starts)


def num_in_window(replay: ReplayBuffer, window: int) -> jax.Array:
    """Returns `[D]` int32, positions of the last `window` generations or iterations; 0 for all."""
    if not window:
        return replay.size
    return jnp.minimum(replay.size, replay.window_starts[:, window - 1])


def draw(replay: ReplayBuffer, key: jax.Array, num_examples: int, window: int = 0) -> jax.Array:
    """Draws rows `[M]` uniformly, with replacement; undefined if the window is empty."""
    back = jax.random.randint(key, (num_examples,), 0, num_in_window(replay, window)[0])
    return (replay.next_row[0] - 1 - back) % replay.value.shape[0]


def take(game: protocol.Game, replay: ReplayBuffer, row: jax.Array) -> Examples:
    """Returns the positions in rows `[M]`."""
    ownership = is_finished = None
    if replay.final is not None:
        sign = replay.final.sign[row].astype(jnp.float32)
        discs = game.planes(game.unpack(replay.final.board[row])).astype(jnp.float32)
        difference = (discs[..., 0] - discs[..., 1]).reshape(row.shape[0], -1)
        ownership, is_finished = sign[:, None] * difference, jnp.abs(sign)
    return Examples(
        board=replay.board[row],
        policy=selfplay.restore(replay.policy[row]),
        value=replay.value[row].astype(jnp.float32),
        ownership=ownership,
        is_finished=is_finished,
    )


def averaged(
    game: protocol.Game, replay: ReplayBuffer, config: targets.TargetsConfig
) -> ReplayBuffer:
    """Returns the rings with policies and values of duplicates averaged.

    Every copy of a position that the same network searched gets the mean of all copies, so that a
    position keeps the weight of its copies.
    """
    if config.average_duplicates == "none":
        return replay
    permutations = game.square_symmetries
    policy, keys, which = selfplay.restore(replay.policy), replay.board, None
    if config.average_duplicates == "symmetric":
        keys, which = duplicates.canonical_keys(game, replay.board)
        policy = symmetry.move_policy(permutations, which, policy)
    keys = jnp.concatenate([keys, replay.actor_version[:, None].astype(jnp.uint32)], axis=1)
    is_used = jnp.arange(replay.value.shape[0]) < replay.size[0]
    both = jnp.concatenate([policy, replay.value[:, None].astype(jnp.float32)], axis=1)
    means, _ = duplicates.group_means(keys, both, is_used)
    policy = means[:, :-1]
    if which is not None:
        policy = symmetry.move_policy(symmetry.inverse(permutations), which, policy)
    return dataclasses.replace(
        replay,
        policy=jnp.where(is_used[:, None], selfplay.quantise(policy), 0),
        value=means[:, -1].astype(replay.value.dtype),
    )


def redistribute(replay: ReplayBuffer, num_devices: int) -> ReplayBuffer:
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

    def dealt(total: jax.Array) -> jax.Array:
        device = jnp.arange(num_devices).reshape(-1, *(1,) * total.ndim)
        return (total[None] + num_devices - 1 - device) // num_devices

    total = replay.size.sum(axis=0)
    size = dealt(total)
    in_window = jnp.minimum(replay.window_starts, replay.size[:, None]).sum(axis=0)
    rows = {name: getattr(replay, name) for name in _ROWS}
    return ReplayBuffer(
        **jax.tree.map(lambda x: x[row], rows),
        next_row=size % new,
        size=size,
        window_starts=size[:, None] - dealt(total - in_window),  # the newest ones are dealt last
    )


_ROWS = ("board", "policy", "value", "iteration", "actor_version", "final")


def _add(replay: ReplayBuffer, is_added: jax.Array, entries: dict[str, Any]) -> ReplayBuffer:
    """Adds the chosen ones of entries `[W, B]`."""
    is_added = is_added.reshape(-1)
    capacity = replay.value.shape[0]
    place = replay.next_row + jnp.cumsum(is_added) - 1
    row = jnp.where(is_added, place % capacity, capacity)  # out of range: dropped

    def put(ring: jax.Array, entry: jax.Array) -> jax.Array:
        flat = entry.reshape(row.shape[0], *ring.shape[1:])
        return ring.at[row].set(flat, mode="drop")

    rings = {name: getattr(replay, name) for name in _ROWS}
    num_added = is_added.sum(dtype=jnp.int32)
    return dataclasses.replace(
        replay,
        **jax.tree.map(put, rings, entries),
        next_row=(replay.next_row + num_added) % capacity,
        size=jnp.minimum(replay.size + num_added, capacity),
        window_starts=jnp.minimum(replay.window_starts + num_added, 2**30),
    )
