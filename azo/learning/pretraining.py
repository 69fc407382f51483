"""Games for pretraining: random games, and games searched only by values.

The 6x6 project begins this way. Random games teach the value, with the mean result of repeated
positions; games searched with these values teach the policy.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from azo.games import protocol
from azo.learning import initial_games, selfplay, supervised, targets, trajectories
from azo.process import code_identity
from azo.search import improvement


@code_identity.jit(static_argnums=(0, 2, 3))
def random_games(
    game: protocol.Game, key: jax.Array, num_games: int, max_plies: int | None = None
) -> tuple[jax.Array, jax.Array]:
    """Returns actions `[G, L]` int32, negative after the last, and results `[G]` float32.

    The results are those of the first player, NaN if `max_plies` do not end the game.
    """
    max_plies = game.max_plies if max_plies is None else max_plies

    def play(state: Any, inputs: Any) -> Any:
        position, value = state
        ply_key, ply = inputs
        action = game.random_action(ply_key, position)
        is_over = game.is_over(position)
        step = game.step(position, action)
        value += jnp.where(ply % 2 == 0, step.reward, -step.reward)
        return (step.position, value), jnp.where(is_over, -1, action).astype(jnp.int32)

    inputs = jax.random.split(key, max_plies), jnp.arange(max_plies)
    start = game.start(num_games), jnp.zeros(num_games)
    (last, value), action = jax.lax.scan(play, start, inputs)
    return action.T, jnp.where(game.is_over(last), value, jnp.nan)


def searched_plies(
    game: protocol.Game,
    evaluate: improvement.Evaluate,
    key: jax.Array,
    num_games: int,
    *,
    search: improvement.SearchConfig,
    max_opening_plies: int,
) -> supervised.RecordedPlies:
    """Returns the plies of at least `num_games` games that a network plays by search.

    The games are played side by side for the longest possible game, and games that end early are
    followed by others. Unfinished games are left out. `action` is the most likely move of the
    search's policy. A game begins after up to `max_opening_plies` random plies.
    """
    begin_key, play_key, _ = jax.random.split(key, 3)
    games = initial_games.new_games(game, begin_key, num_games, max_opening_plies=max_opening_plies)
    config = selfplay.SelfplayConfig(
        num_games=num_games, num_plies=game.max_plies, max_opening_plies=max_opening_plies
    )
    _, played, _ = selfplay.play(game, evaluate, play_key, games, search=search, config=config)
    history = trajectories.empty_history(game, num_games)
    plies, labels, _ = targets.label(targets.TargetsConfig(value="outcome"), history, played)
    # Game after game, as the games of a column follow one another.
    plies, labels = jax.tree.map(lambda x: np.asarray(x).swapaxes(0, 1), (plies, labels))
    plies, labels = jax.tree.map(lambda x: x[labels.is_new], (plies, labels))
    is_first = np.diff(plies.ply, prepend=plies.ply[:1]) != 1
    return supervised.RecordedPlies(
        board=plies.board,
        action=plies.policy.argmax(axis=1).astype(np.int32),
        value=labels.outcome,
        score=labels.score,
        ply=plies.ply,
        game=np.cumsum(is_first, dtype=np.int32) - 1,
        policy=plies.policy,
    )
