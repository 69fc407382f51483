"""Learning from games that somebody played: examples, optimiser steps, and how well it went.

    games  ->  plies  ->  held-out games apart, early plies thinned  ->  one example a position

Games come as actions on the host, as `games.archives` or `pretraining` return them. All examples
lie packed on the device, and steps are taken on given rows of them.
"""

import dataclasses
import functools
import hashlib
from typing import Annotated, Literal

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pydantic

from azo.games import protocol, symmetry
from azo.learning import duplicates, learner, network, ply_records, replay
from azo.search import improvement, search_tree

_Share = Annotated[float, pydantic.Field(ge=0, le=1)]
_NO_ACTION = -1
_SIDE_BY_SIDE = 8192  # games or positions that are worked on at once


class ExamplesConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Which positions of the games are learned, and what of them."""

    held_out: Annotated[float, pydantic.Field(gt=0, lt=1)] = 0.1
    """Share of the games that measure and are not learned; copies of a game stay together."""
    keep_under_8: _Share = 0.3
    """Share of the plies 0 to 7 that is learned: openings repeat themselves."""
    keep_under_16: _Share = 0.7
    """Share of the plies 8 to 15 that is learned."""
    target: Literal["majority", "frequencies"] = "majority"
    """Policy of a position that was met several times: its most played move, or all by share."""
    up_to_symmetry: bool = False
    """Take a position and its images for the same one."""


@dataclasses.dataclass(frozen=True)
class RecordedPlies:
    """`P` plies of known games, game after game, on the host."""

    board: np.ndarray  # [P, words] uint32, the position before the move, packed
    action: np.ndarray  # [P] int32, the move played
    value: np.ndarray  # [P] float32, the game's result for the side to move
    ply: np.ndarray  # [P] int32, plies played before
    game: np.ndarray  # [P] int32, number of the game
    policy: np.ndarray | None = None  # [P, A] uint8, the policy of a search, see `quantise`

    def __len__(self) -> int:
        return len(self.action)

    def select(self, rows: np.ndarray) -> "RecordedPlies":
        """Returns the plies of an index or a mask `[P]`."""
        return RecordedPlies(
            board=self.board[rows],
            action=self.action[rows],
            value=self.value[rows],
            ply=self.ply[rows],
            game=self.game[rows],
            policy=None if self.policy is None else self.policy[rows],
        )


@flax.struct.dataclass
class Dataset:
    """`R` examples on the device, 83 bytes each on 8x8."""

    board: jax.Array  # [R, words] uint32
    policy: jax.Array  # [R, A] uint8, see `ply_records.quantise`
    value: jax.Array  # [R] float16, mean result for the side to move

    @property
    def num_rows(self) -> int:
        return int(self.value.shape[0])

    def examples(self, row: jax.Array) -> replay.Examples:
        """Returns the examples of rows `[M]`."""
        return replay.Examples(
            board=self.board[row],
            policy=ply_records.restore(self.policy[row]),
            value=self.value[row].astype(jnp.float32),
        )


@flax.struct.dataclass
class HeldOutScore:
    """How a network does on plies of others, each a scalar float32 sum over plies."""

    num_plies: jax.Array
    num_hits: jax.Array  # its likeliest legal move is the one played
    policy_loss: jax.Array  # cross-entropy of the move played, nats
    value_error: jax.Array  # squared difference of its value and the result


def plies_of(game: protocol.Game, action: np.ndarray, value: np.ndarray) -> RecordedPlies:
    """Returns every ply of games with a known result.

    Args:
      game: the rules.
      action: `[G, L]` legal actions, passes included, negative after the last.
      value: `[G]` float32, results for the first player; plies of a game with NaN are left out.
    """
    is_ply = (action >= 0) & ~np.isnan(value)[:, None]
    board = np.concatenate(
        [
            _boards_of(game, action[i : i + _SIDE_BY_SIDE])
            for i in range(0, len(action), _SIDE_BY_SIDE)
        ]
    )
    row, ply = np.nonzero(is_ply)
    return RecordedPlies(
        board=board[is_ply],
        action=action[is_ply].astype(np.int32),
        value=np.where(ply % 2 == 0, value[row], -value[row]).astype(np.float32),
        ply=ply.astype(np.int32),
        game=row.astype(np.int32),
    )


def is_held_out(game: protocol.Game, action: np.ndarray, share: float) -> np.ndarray:
    """Returns `[G]` bool, about `share` of the games, by a hash of their moves.

    Games with equal moves, also after turning or mirroring the board, are on the same side, as
    are those of another archive. `action` is as in `plies_of`.
    """
    num_symmetries = len(game.square_symmetries)
    beyond = np.arange(game.square_symmetries.shape[1], 128)  # the pass, and after the last ply
    moved = [
        np.concatenate([row, beyond]).astype(np.uint8)[action]
        for row in symmetry.inverse(game.square_symmetries)
    ]
    limit = share * 2.0**64
    held_out = np.zeros(len(action), bool)
    for index in range(len(action)):
        length = int((action[index] >= 0).sum())
        least = min(moved[k][index, :length].tobytes() for k in range(num_symmetries))
        number = int.from_bytes(hashlib.blake2b(least, digest_size=8).digest(), "little")
        held_out[index] = number < limit
    return held_out


def thinned(plies: RecordedPlies, config: ExamplesConfig, seed: int) -> RecordedPlies:
    """Returns the plies without a random part of the early ones."""
    keep = np.select(
        [plies.ply < 8, plies.ply < 16], [config.keep_under_8, config.keep_under_16], 1.0
    )
    return plies.select(np.random.default_rng(seed).random(len(plies)) < keep)


def dataset(game: protocol.Game, plies: RecordedPlies, config: ExamplesConfig) -> Dataset:
    """Returns one example for each position among the plies.

    Its value is the mean result. Its policy is what `config.target` says, of equally frequent moves
    the lower one; or, where the plies have policies, their mean. With `config.up_to_symmetry` the
    example is the first ply's image, and the others' moves are turned to fit.
    """
    num_squares = game.square_symmetries.shape[1]
    to_row = np.tile(np.arange(game.num_actions), (len(game.square_symmetries), 1))
    to_row[:, :num_squares] = game.square_symmetries
    to_key = np.argsort(to_row, axis=1)  # which action of the key's image an action is
    keys, which = plies.board, np.zeros(len(plies), np.int32)
    if config.up_to_symmetry:
        keys, which = _canonical_keys(game, plies.board)
    found = duplicates.groups(jnp.asarray(keys), jnp.ones(len(plies), bool))
    group, is_first = np.asarray(found.index), np.asarray(found.is_first)
    first = np.flatnonzero(is_first)[np.argsort(group[is_first])]

    if plies.policy is None:
        action = to_row[which[first][group], to_key[which, plies.action]]
        weights = _votes(group, action, game.num_actions, config.target)
    else:
        of_row = plies.policy / plies.policy.sum(axis=1, keepdims=True, dtype=np.float32)
        weights = np.zeros((len(first), game.num_actions), np.float32)
        np.add.at(weights, group, np.take_along_axis(of_row, to_row[which], axis=1))
        weights = np.take_along_axis(weights, to_key[which[first]], axis=1)
    largest = weights.max(axis=1, keepdims=True)
    value = np.bincount(group, plies.value) / np.bincount(group)
    return Dataset(
        board=jnp.asarray(plies.board[first]),
        policy=jnp.asarray(np.rint(255 * (weights / largest)).astype(np.uint8)),
        value=jnp.asarray(value.astype(np.float16)),
    )


def take_steps(
    game: protocol.Game,
    model: network.Network,
    optimiser: optax.GradientTransformation,
    key: jax.Array,
    train_state: learner.TrainState,
    data: Dataset,
    row: jax.Array,
    *,
    config: learner.LearnerConfig,
) -> tuple[learner.TrainState, learner.Losses]:
    """Takes one step on each batch of rows; returns the learner and the mean losses.

    Args:
      game: the rules.
      model: the network in its form for training.
      optimiser: from `learner.make_optimiser`.
      key: for symmetries and dropout.
      train_state: parameters and optimiser state so far.
      data: all examples.
      row: `[S, M]` int32, the examples of `S` steps.
      config: the settings.
    """

    def step(train_state, given):
        step_key, row = given
        examples = data.examples(row)
        return learner.take_step(
            game, model, optimiser, step_key, train_state, examples, config=config
        )

    train_state, losses = jax.lax.scan(step, train_state, (jax.random.split(key, len(row)), row))
    return train_state, jax.tree.map(jnp.mean, losses)


def score(
    game: protocol.Game,
    evaluate: improvement.Evaluate,
    board: jax.Array,
    action: jax.Array,
    value: jax.Array,
) -> HeldOutScore:
    """Returns how a network does on `[M]` plies of others, see `RecordedPlies`.

    Rows with a negative action count for nothing, so that batches can be filled up.
    """
    position = game.unpack(board)
    found = evaluate(jax.random.key(0), position)
    logits = search_tree.mask_illegal(found.prior_logits, game.legal_mask(position))
    is_ply = action >= 0
    played = jnp.maximum(action, 0)[:, None]
    loss = -jnp.take_along_axis(jax.nn.log_softmax(logits), played, axis=1)[:, 0]

    def total(x: jax.Array) -> jax.Array:
        return jnp.where(is_ply, x, 0.0).sum()

    return HeldOutScore(
        num_plies=total(jnp.ones_like(value)),
        num_hits=total((logits.argmax(axis=1) == action).astype(jnp.float32)),
        policy_loss=total(loss),
        value_error=total(jnp.square(found.value - value)),
    )


def _boards_of(game: protocol.Game, action: np.ndarray) -> np.ndarray:
    """Returns `[G, L, words]` uint32, the packed position before every ply."""
    width = max(8, 1 << (len(action) - 1).bit_length())  # few shapes, each compiled once
    padded = np.full((action.shape[1], width), _NO_ACTION, np.int32)
    padded[:, : len(action)] = action.T
    return np.asarray(_boards(game, jnp.asarray(padded))).swapaxes(0, 1)[: len(action)]


@functools.partial(jax.jit, static_argnums=0)
def _boards(game: protocol.Game, action: jax.Array) -> jax.Array:
    def play(position, action):
        after = game.step(position, jnp.maximum(action, 0)).position
        after = jax.tree.map(lambda a, b: jnp.where(action >= 0, a, b), after, position)
        return after, game.pack(position)

    return jax.lax.scan(play, game.start(action.shape[1]), action)[1]


def _canonical_keys(game: protocol.Game, board: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns `duplicates.canonical_keys`, part by part, since images take much space."""
    keys_of = jax.jit(duplicates.canonical_keys, static_argnums=0)
    padded = np.pad(board, ((0, -len(board) % _SIDE_BY_SIDE), (0, 0)))
    parts = [
        jax.device_get(keys_of(game, jnp.asarray(padded[i : i + _SIDE_BY_SIDE])))
        for i in range(0, len(padded), _SIDE_BY_SIDE)
    ]
    keys, which = (np.concatenate(part)[: len(board)] for part in zip(*parts, strict=True))
    return keys, which


def _votes(group: np.ndarray, action: np.ndarray, num_actions: int, target: str) -> np.ndarray:
    """Returns `[R, A]` float32: how often each move was played, or 1 for the most played one."""
    code, count = np.unique(group.astype(np.int64) * num_actions + action, return_counts=True)
    of_group, move = np.divmod(code, num_actions)
    weights = np.zeros((group.max() + 1, num_actions), np.float32)
    if target == "frequencies":
        weights[of_group, move] = count
        return weights
    best = np.lexsort([move, -count, of_group])
    best = best[np.concatenate([[True], np.diff(of_group[best]) > 0])]
    weights[of_group[best], move[best]] = 1.0
    return weights
