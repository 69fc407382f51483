"""Supervised learning from recorded games: examples and held-out scores.

    games -> plies -> held-out games apart, early plies thinned -> one example a position

Games are actions on the host, as from `formats.archives` or `pretraining`. All examples lie packed
on the device; `learner.learn` takes given rows in each step.
"""

import functools
import hashlib
from typing import Annotated, Any

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import pydantic

from azo.games import protocol, symmetry
from azo.learning import duplicates, ply_records, replay
from azo.search import improvement, search_tree

_Share = Annotated[float, pydantic.Field(ge=0, le=1)]
_NO_ACTION = -1
_UNKNOWN = ply_records.UNKNOWN_SCORE
_BLOCK = 8192  # games replayed at once


class ExamplesConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Examples from recorded games."""

    held_out: Annotated[float, pydantic.Field(gt=0, lt=1)] = 0.1
    """Share of the games held out for measuring; copies of a game stay together."""
    keep_under_8: _Share = 0.3
    """Share of the plies 0 to 7 that become examples."""
    keep_under_16: _Share = 0.7
    """Share of the plies 8 to 15 that become examples."""


@flax.struct.dataclass
class RecordedPlies:
    """`P` plies of recorded games, game after game, on the host."""

    board: np.ndarray  # [P, words] uint32, the position before the move, packed
    action: np.ndarray  # [P] int32, the move played
    value: np.ndarray  # [P] float32, result for the side to move: the game's, or an exact one
    score: np.ndarray  # [P] int8, final score likewise, or UNKNOWN_SCORE
    ply: np.ndarray  # [P] int32, plies played before
    game: np.ndarray  # [P] int32, number of the game
    policy: np.ndarray | None = None  # [P, A] uint8, policy of a search, see `quantise`

    def __len__(self) -> int:
        return len(self.action)

    def select(self, rows: np.ndarray) -> "RecordedPlies":
        """Returns the plies of an index or a mask `[P]`."""
        return jax.tree.map(lambda column: column[rows], self)


@flax.struct.dataclass
class Dataset:
    """`R` examples on the device, 84 bytes each on 8x8."""

    board: jax.Array  # [R, words] uint32
    policy: jax.Array  # [R, A] uint8, see `ply_records.quantise`
    value: jax.Array  # [R] float16, mean result for the side to move
    score: jax.Array  # [R] int8, final score of one game for that side, or UNKNOWN_SCORE

    @property
    def num_rows(self) -> int:
        """Returns the number of examples `R`."""
        return int(self.value.shape[0])

    def examples(self, row: jax.Array) -> replay.Examples:
        """Returns the examples of rows `[M]`."""
        return replay.Examples(
            board=self.board[row],
            policy=ply_records.restore(self.policy[row]),
            value=self.value[row].astype(jnp.float32),
            score=self.score[row].astype(jnp.int32),
        )


@flax.struct.dataclass
class HeldOutScore:
    """Results of a network on held-out plies, each `[M]` float32; or their means, each a float."""

    accuracy: Any  # 1 where the network's likeliest legal move is the move played, else 0
    policy_loss: Any  # cross-entropy of the move played, nats
    value_error: Any  # squared difference of the network's value and the result, both in [-1, 1]


def plies_of(
    game: protocol.Game,
    action: np.ndarray,
    value: np.ndarray,
    *,
    exact_score: np.ndarray | int = 0,
    num_solved: np.ndarray | int = 0,
) -> RecordedPlies:
    """Returns all plies of the games with a result.

    Args:
      game: the rules.
      action: `[G, L]` legal actions, passes included, negative after the last.
      value: `[G]` float32, results for the first player; plies of a game with NaN are left out.
      exact_score: `[G]` final score under perfect play from a later position on, for this player.
      num_solved: `[G]` plies up to that position, which get this score and its result.
    """
    is_ply = (action >= 0) & ~np.isnan(value)[:, None]
    blocks = [_replayed(game, action[i : i + _BLOCK]) for i in range(0, len(action), _BLOCK)]
    board, first_score = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    row, ply = np.nonzero(is_ply)
    is_solved = ply < np.broadcast_to(num_solved, len(action))[row]
    exact = np.broadcast_to(exact_score, len(action))[row]
    score = np.where(is_solved, exact, first_score[row])
    sign = np.where(ply % 2 == 0, 1, -1)
    return RecordedPlies(
        board=board[is_ply],
        action=action[is_ply].astype(np.int32),
        value=(sign * np.where(is_solved, np.sign(exact), value[row])).astype(np.float32),
        score=np.where(score == _UNKNOWN, _UNKNOWN, sign * score).astype(np.int8),
        ply=ply.astype(np.int32),
        game=row.astype(np.int32),
    )


def is_held_out(game: protocol.Game, action: np.ndarray, share: float) -> np.ndarray:
    """Returns `[G]` bool, about `share` of the games, by a hash of their moves.

    Games with equal moves up to symmetry get the same answer, also if they are in different
    archives. `action` is as in `plies_of`.
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
    """Returns the plies without a random share of the early plies."""
    keep = np.select(
        [plies.ply < 8, plies.ply < 16], [config.keep_under_8, config.keep_under_16], 1.0
    )
    return plies.select(np.random.default_rng(seed).random(len(plies)) < keep)


def dataset(game: protocol.Game, plies: RecordedPlies) -> Dataset:
    """Returns one example for each position among the plies.

    Its value is the mean result, its score that of one game. Its policy is the most played move,
    the lowest of equal ones; or the mean policy, if the plies have policies.
    """
    groups = duplicates.groups(jnp.asarray(plies.board), jnp.ones(len(plies), bool))
    group, is_first = np.asarray(groups.index), np.asarray(groups.is_first)
    first = np.flatnonzero(is_first)[np.argsort(group[is_first])]

    weights = np.zeros((len(first), game.num_actions), np.float32)
    if plies.policy is None:
        np.add.at(weights, (group, plies.action), 1)
        weights = np.eye(game.num_actions, dtype=np.float32)[weights.argmax(axis=1)]
    else:
        policy = plies.policy / plies.policy.sum(axis=1, keepdims=True, dtype=np.float32)
        np.add.at(weights, group, policy)
    largest = weights.max(axis=1, keepdims=True)
    value = np.bincount(group, plies.value) / np.bincount(group)
    return Dataset(
        board=jnp.asarray(plies.board[first]),
        policy=jnp.asarray(np.rint(255 * (weights / largest)).astype(np.uint8)),
        value=jnp.asarray(value.astype(np.float16)),
        score=jnp.asarray(plies.score[first]),
    )


def score(
    game: protocol.Game,
    evaluate: improvement.Evaluate,
    board: jax.Array,
    action: jax.Array,
    value: jax.Array,
) -> HeldOutScore:
    """Returns the score of a network on `[M]` plies, see `RecordedPlies`."""
    position = game.unpack(board)
    evaluation = evaluate(jax.random.key(0), position)
    logits = search_tree.mask_illegal(evaluation.prior_logits, game.legal_mask(position))
    log_policy = jax.nn.log_softmax(logits)
    return HeldOutScore(
        accuracy=(logits.argmax(axis=1) == action).astype(jnp.float32),
        policy_loss=-jnp.take_along_axis(log_policy, action[:, None], axis=1)[:, 0],
        value_error=jnp.square(evaluation.value - value),
    )


def _replayed(game: protocol.Game, action: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the packed position before every ply, and the final scores for the first player.

    They are `[G, L, words]` uint32 and `[G]` int32, UNKNOWN_SCORE where the game is not over.
    """
    width = max(8, 1 << (len(action) - 1).bit_length())  # few shapes, each compiled once
    padded = np.full((action.shape[1], width), _NO_ACTION, np.int32)
    padded[:, : len(action)] = action.T
    board, score = jax.device_get(_replay(game, jnp.asarray(padded)))
    return board.swapaxes(0, 1)[: len(action)], score[: len(action)]


@functools.partial(jax.jit, static_argnums=0)
def _replay(game: protocol.Game, action: jax.Array) -> tuple[jax.Array, jax.Array]:
    def play(position, action):
        after = game.step(position, jnp.maximum(action, 0)).position
        return protocol.where(action >= 0, after, position), game.pack(position)

    last, board = jax.lax.scan(play, game.start(action.shape[1]), action)
    sign = jnp.where((action >= 0).sum(axis=0) % 2 == 0, 1, -1)
    return board, jnp.where(game.is_over(last), sign * game.final_score(last), _UNKNOWN)
