"""Starts of new games: random openings, and games spread over all plies."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from azo.games import protocol
from azo.learning import trajectories
from azo.learning.options import interface


def new_games(
    game: protocol.Game,
    key: jax.Array,
    num_games: int,
    *,
    min_opening_plies: int = 0,
    max_opening_plies: int = 0,
    options: Sequence[interface.Option] = (),
) -> trajectories.GamesInProgress:
    """Returns games after random openings, without parts of options.

    Opening plies count as played plies. An opening stops before a ply that would end the game, by
    the rules or by one of the options.
    """
    num_plies = jax.random.randint(key, (num_games,), min_opening_plies, max_opening_plies + 1)
    return _play_randomly(game, key, num_plies, max_opening_plies, options)


def spread_games(
    game: protocol.Game,
    key: jax.Array,
    num_games: int,
    *,
    options: Sequence[interface.Option] = (),
) -> trajectories.GamesInProgress:
    """Returns games at plies spread evenly over a game's length, after random moves.

    As a game's length counts the squares of the board, or `max_plies` if that is less.

    Games that all begin at once would also end at once. The replay would then hold positions of
    about one ply at a time.
    """
    rows, columns = game.board_shape
    length = min(rows * columns, game.max_plies)
    num_plies = jnp.arange(num_games) % length
    return _play_randomly(game, key, num_plies, length, options, begins_again=True)


def _play_randomly(
    game: protocol.Game,
    key: jax.Array,
    num_plies: jax.Array,
    max_plies: int,
    options: Sequence[interface.Option],
    *,
    begins_again: bool = False,
) -> trajectories.GamesInProgress:
    """Returns games after `num_plies` `[B]` random moves, at most `max_plies`.

    A move that would end the game is not played, or the game begins again in its place.
    """
    start = trajectories.GamesInProgress(
        position=game.start(*num_plies.shape), ply=jnp.zeros_like(num_plies), options={}
    )

    def advance(ply: jax.Array, games: trajectories.GamesInProgress) -> Any:
        action = game.random_action(jax.random.fold_in(key, ply), games.position)
        step = game.step(games.position, action)
        is_end = step.discount == 0
        for option in options:
            is_end |= option.is_end(step.position)
        after = trajectories.GamesInProgress(step.position, games.ply + 1, {})
        after = protocol.where(is_end, start if begins_again else games, after)
        return protocol.where(ply < num_plies, after, games)

    return jax.lax.fori_loop(0, max_plies, advance, start)
