"""Quality of the labels of a replay, and of searches by their number of simulations.

`repeats` measures how far the labels of one position contradict each other. `fluctuation` measures
how far the result of a search depends on its number of simulations, so that one can choose it.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import chex
import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from azo.games import protocol
from azo.learning import duplicates, leaf_evaluator, network
from azo.measure import players
from azo.search import improvement

SIMULATIONS = (1, 2, 5, 10, 25, 50, 100, 200, 400)


@flax.struct.dataclass
class Repeats:
    """Statistics of positions that a replay has more than once."""

    unique_positions: jax.Array  # [] int32, distinct positions
    repeated_share: jax.Array  # [] float32, share of the rows whose position occurs more than once
    value_variance: jax.Array  # [] float32, of the values of a repeated position; NaN without any
    policy_conflict: jax.Array  # [] float32, nats, of its policies; NaN without any


def repeats(
    game: protocol.Game,
    board: jax.Array,
    policy: jax.Array,
    value: jax.Array,
    is_used: jax.Array,
) -> Repeats:
    """Returns how often positions repeat, and how far their labels differ; jittable.

    For each position that occurs more than once: the population variance of its values, and the
    mean over its copies of KL(policy of the copy || mean policy of all copies), the Jensen-Shannon
    divergence of the copies. Both are averaged over these positions, with equal weights. No network
    can learn these differences; averaging duplicates removes them.

    Args:
      game: the rules.
      board: `[R, words]` uint32, packed positions.
      policy: `[R, A]` float32, summing to 1.
      value: `[R]` float32.
      is_used: `[R]` bool, rows that hold a position.
    """
    chex.assert_shape(board, (None, game.packed_words))
    chex.assert_shape(policy, (board.shape[0], game.num_actions))
    chex.assert_equal_shape([value, is_used])
    groups = duplicates.groups(board, is_used)
    mean = duplicates.means(groups, jnp.concatenate([value[:, None], policy], axis=1))
    deviation = jnp.square(value - mean[:, 0])
    ratio = jnp.where(policy > 0, policy / jnp.where(policy > 0, mean[:, 1:], 1.0), 1.0)
    divergence = (policy * jnp.log(ratio)).sum(axis=-1)

    is_repeated = groups.count > 1
    weight = jnp.where(is_repeated, 1 / jnp.maximum(groups.count, 1), 0.0)
    num_repeated = (is_repeated & groups.is_first).sum(dtype=jnp.int32)

    def mean_over_positions(row_value: jax.Array) -> jax.Array:
        total = jnp.where(is_repeated, row_value * weight, 0.0).sum()
        return jnp.where(num_repeated > 0, total / num_repeated, jnp.nan)

    return Repeats(
        unique_positions=groups.is_first.sum(dtype=jnp.int32),
        repeated_share=is_repeated.sum() / jnp.maximum(is_used.sum(), 1),
        value_variance=mean_over_positions(deviation),
        policy_conflict=mean_over_positions(divergence),
    )


@dataclasses.dataclass(frozen=True)
class Fluctuation:
    """Differences between searches of the same positions and the largest search."""

    num_simulations: tuple[int, ...]  # ascending
    value_rms: tuple[float, ...]  # root mean square difference of the root values
    changed_share: tuple[float, ...]  # positions with another best move
    num_positions: int


def fluctuation(
    game: protocol.Game,
    trained: players.TrainedNetwork,
    key: jax.Array,
    *,
    num_positions: int = 256,
    num_simulations: Sequence[int] = SIMULATIONS,
    opening_plies: int = 4,
) -> Fluctuation:
    """Searches the same positions with growing numbers of simulations, greedily and without noise.

    Args:
      game: the rules.
      trained: the network and its search.
      key: for the positions and for the searches.
      num_positions: see `sample_positions`.
      num_simulations: simulations a move, two or more numbers; each compiles a program.
      opening_plies: largest number of random plies at the start of a game; see `sample_positions`.
    """
    sizes = tuple(sorted(set(num_simulations)))
    if len(sizes) < 2:
        raise ValueError(f"num_simulations is {list(num_simulations)}: give two or more numbers")
    sample_key, search_key = jax.random.split(key)
    variables, config = trained.variables, trained.network_config
    position = sample_positions(
        game,
        variables,
        sample_key,
        config=config,
        num_positions=num_positions,
        opening_plies=opening_plies,
    )
    # Leaves evaluated in one batch would have to divide every size.
    one_by_one = trained.search_config.model_copy(update={"leaves_per_step": 1})
    results = []
    for size in sizes:
        search = players.with_simulations(one_by_one, size)
        result = _search(game, variables, search_key, position, config=config, search=search)
        results.append(jax.device_get(result))
    return compare(sizes, *(np.stack(column) for column in zip(*results, strict=True)))


def compare(num_simulations: Sequence[int], value: np.ndarray, action: np.ndarray) -> Fluctuation:
    """Returns the differences between searches and the last one.

    Args:
      num_simulations: of `S` searches, ascending.
      value: `[S, B]`, root values of `B` positions.
      action: `[S, B]`, best moves.
    """
    rms = np.sqrt(np.mean(np.square(value - value[-1]), axis=1))
    changed = np.mean(action != action[-1], axis=1)
    return Fluctuation(
        num_simulations=tuple(num_simulations),
        value_rms=tuple(rms.tolist()),
        changed_share=tuple(changed.tolist()),
        num_positions=value.shape[1],
    )


@functools.partial(jax.jit, static_argnames=("game", "config", "num_positions"))
def sample_positions(
    game: protocol.Game,
    variables: network.Variables,
    key: jax.Array,
    *,
    config: network.NetworkConfig,
    num_positions: int,
    opening_plies: int,
) -> protocol.Position:
    """Returns positions `[num_positions]` like those of self-play, each from a different game.

    A game begins with 0 to `opening_plies` random plies, drawn uniformly. Its other moves are drawn
    from the network's policy, without search. Its position is drawn uniformly from the plies after
    the opening, or from all plies if the opening ended the game.
    """
    evaluate = network.folded_evaluator(game, config, variables)
    length_key, play_key, choice_key = jax.random.split(key, 3)
    opening = jax.random.randint(length_key, (num_positions,), 0, opening_plies + 1)

    def play_ply(position: protocol.Position, ply: jax.Array) -> tuple[Any, Any]:
        ply_key = jax.random.fold_in(play_key, ply)
        random_key, policy_key, evaluation_key = jax.random.split(ply_key, 3)
        logits = evaluate(evaluation_key, position).prior_logits
        logits = jnp.where(game.legal_mask(position), logits, -jnp.inf)
        drawn = jax.random.categorical(policy_key, logits)
        action = jnp.where(ply < opening, game.random_action(random_key, position), drawn)
        record = (game.pack(position), game.is_over(position))
        return game.step(position, action.astype(jnp.int32)).position, record

    plies = jnp.arange(game.max_plies)
    _, (board, is_over) = jax.lax.scan(play_ply, game.start(num_positions), plies)
    length = (~is_over).sum(axis=0)
    first = jnp.where(opening < length, opening, 0)
    place = jax.random.uniform(choice_key, (num_positions,))
    ply = first + jnp.floor(place * (length - first)).astype(jnp.int32)
    return game.unpack(board[ply, jnp.arange(num_positions)])


@functools.partial(jax.jit, static_argnames=("game", "config", "search"))
def _search(
    game: protocol.Game,
    variables: network.Variables,
    key: jax.Array,
    position: protocol.Position,
    *,
    config: network.NetworkConfig,
    search: improvement.SearchConfig,
) -> tuple[jax.Array, jax.Array]:
    """Returns the root values `[B]` and the best moves `[B]`."""
    evaluate = leaf_evaluator.evaluator(game, config, variables, search)
    result = improvement.search(game, evaluate, key, position, config=search, is_greedy=True)
    return result.value, result.action
