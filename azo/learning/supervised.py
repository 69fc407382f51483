"""Supervised learning from recorded games: examples and held-out scores.

    games -> plies -> held-out games apart, early plies thinned -> one example per position

Games are actions on the host, as from `game_files` or `pretraining`. All examples lie packed
on the device; `learner.learn` takes given rows in each step.
"""

import functools
from collections.abc import Callable
from typing import Annotated, Any

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import pydantic

from azo.games import protocol
from azo.learning import replay, trajectories
from azo.networks import network
from azo.process import code_identity
from azo.search import search_tree

_Share = Annotated[float, pydantic.Field(ge=0, le=1)]
_UNKNOWN = trajectories.UNKNOWN_SCORE
_BLOCK = 8192  # games replayed at once


class ExamplesConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Examples from recorded games."""

    held_out: Annotated[float, pydantic.Field(gt=0, lt=1)] = 0.1
    """Share of the games held out for evaluation; copies of a game stay together."""
    keep_under_8: _Share = 0.3
    """Share of plies 0 to 7 that become examples."""
    keep_under_16: _Share = 0.7
    """Share of plies 8 to 15 that become examples."""


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


def plies_of(
    game: protocol.Game,
    action: np.ndarray,
    value: np.ndarray,
    *,
    exact_score: np.ndarray | int = 0,
    num_solved: np.ndarray | int = 0,
) -> RecordedPlies:
    """Returns all plies of the games with a result, `value` `[G]` float32 for the first player.

    Legal actions `[G, L]` include passes and are negative after the last. Games whose result is NaN
    are left out. The first `num_solved` `[G]` plies get the score `exact_score` `[G]` under perfect
    play, also for the first player, and its result.
    """
    is_ply = (action >= 0) & ~np.isnan(value)[:, None]
    replay_block = functools.partial(_replay, game)
    board, first_score = in_batches(replay_block, action, _BLOCK)
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


def in_batches(function: Callable[[Any], Any], rows: Any, size: int) -> Any:
    """Returns the results `[M]` of a function of rows `[M]`, which takes `size` rows at a time.

    The last row fills up the last batch, so that one shape is compiled. The results are on the
    host.
    """
    count = len(jax.tree.leaves(rows)[0])
    results = []
    for first in range(0, count, size):
        places = np.arange(first, first + size).clip(max=count - 1)
        batch = jax.tree.map(lambda column, places=places: column[places], rows)
        results.append(jax.device_get(function(batch)))
    return jax.tree.map(lambda *parts: np.concatenate(parts)[:count], *results)


def is_held_out(game: protocol.Game, action: np.ndarray, share: float) -> np.ndarray:
    """Returns `[G]` bool, about `share` of the games, by a hash of their moves.

    Games with equal moves up to symmetry get the same answer, also if they are in different
    archives. `action` is as in `plies_of`.
    """
    size = (action.shape[1], game.num_actions + 1)
    numbers = np.random.default_rng(0).integers(2**64, size=size, dtype=np.uint64)
    numbers[:, -1] = 0  # after the last ply
    total = np.zeros(len(action), np.uint64)
    for turned in game.action_symmetries:  # the sum of all images is that of each of them
        moved = np.append(turned, game.num_actions)[action]
        total += numbers[np.arange(action.shape[1]), moved].sum(axis=1, dtype=np.uint64)
    return total < share * 2.0**64


def thinned(plies: RecordedPlies, config: ExamplesConfig, seed: int) -> RecordedPlies:
    """Returns the plies without a random share of the early plies."""
    keep = np.select(
        [plies.ply < 8, plies.ply < 16], [config.keep_under_8, config.keep_under_16], 1.0
    )
    return plies.select(np.random.default_rng(seed).random(len(plies)) < keep)


def dataset(game: protocol.Game, plies: RecordedPlies) -> replay.Examples:
    """Returns one example for each position among the plies.

    Its value is the mean result, its score that of one game. Its policy is the most played move,
    the lowest of equal ones; or the mean policy, if the plies have policies.
    """
    _, first, group = np.unique(plies.board, axis=0, return_index=True, return_inverse=True)
    group = group.reshape(-1)  # of two axes in NumPy 2.0
    weights = np.zeros((len(first), game.num_actions), np.float32)
    if plies.policy is None:
        np.add.at(weights, (group, plies.action), 1)
        weights = np.eye(game.num_actions, dtype=np.float32)[weights.argmax(axis=1)]
    else:
        policy = plies.policy / plies.policy.sum(axis=1, keepdims=True, dtype=np.float32)
        np.add.at(weights, group, policy)
    largest = weights.max(axis=1, keepdims=True)
    value = np.bincount(group, plies.value) / np.bincount(group)
    return replay.Examples(
        board=jnp.asarray(plies.board[first]),
        policy=jnp.asarray(np.rint(255 * (weights / largest)).astype(np.uint8)),
        value=jnp.asarray(value.astype(np.float16)),
        score=jnp.asarray(plies.score[first]),
    )


@code_identity.jit(static_argnums=(0, 1))
def score(
    game: protocol.Game,
    config: network.NetworkConfig,
    variables: network.Variables,
    board: jax.Array,
    action: jax.Array,
    value: jax.Array,
) -> dict[str, jax.Array]:
    """Returns the results of a network on plies `[M]`, see `RecordedPlies`, each `[M]` float32.

    They are `accuracy`, 1 where the network's likeliest legal move is the move played, else 0;
    `policy_loss`, the cross-entropy of that move in nats; and `value_error`, the squared difference
    of the network's value and the result.
    """
    position = game.unpack(board)
    evaluation = network.folded_evaluator(game, config, variables)(jax.random.key(0), position)
    logits = search_tree.mask_illegal(evaluation.prior_logits, game.legal_mask(position))
    log_policy = jax.nn.log_softmax(logits)
    return {
        "accuracy": (logits.argmax(axis=1) == action).astype(jnp.float32),
        "policy_loss": -jnp.take_along_axis(log_policy, action[:, None], axis=1)[:, 0],
        "value_error": jnp.square(evaluation.value - value),
    }


@code_identity.jit(static_argnums=(0,))
def _replay(game: protocol.Game, action: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns the packed position before every ply, and the final scores for the first player.

    Of actions `[G, L]` they are `[G, L, words]` uint32 and `[G]` int32, UNKNOWN_SCORE where the
    game is not over.
    """

    def play(position: Any, action: jax.Array) -> Any:
        after = game.step(position, jnp.maximum(action, 0)).position
        return protocol.where(action >= 0, after, position), game.pack(position)

    last, board = jax.lax.scan(play, game.start(len(action)), action.T.astype(jnp.int32))
    sign = jnp.where((action >= 0).sum(axis=1) % 2 == 0, 1, -1)
    score = jnp.where(game.is_over(last), sign * game.final_score(last), _UNKNOWN)
    return board.swapaxes(0, 1), score
