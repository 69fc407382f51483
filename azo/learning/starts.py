"""Starts of new games: random openings, or archived positions of earlier games.

The archive is the device's own replay, as in Go-Exploit (Trudeau and Bowling, 2023,
arXiv:2302.12359), so every device draws from its own games. A row of the replay has a regret: the
difference of the search's value from the result of the game. Of several drawn rows, the one with
the largest regret can be taken, so that games begin where the search was wrong. The aim is that of
Tsai et al. (2026, arXiv:2602.20809), who also train a network to predict regret.
"""

from typing import Any

import jax
import jax.numpy as jnp

from azo.games import protocol
from azo.learning import endings, ply_records, replay


def draw_archived(
    game: protocol.Game,
    buffer: replay.ReplayBuffer,
    key: jax.Array,
    shape: tuple[int, int],
    *,
    share: float,
    num_candidates: int,
    adjudicate_empties: int = 0,
) -> ply_records.GamesInProgress:
    """Draws an archived start for each game and ply `(T, B)`, with replacement.

    A start that is not used has a regret of -1.

    The `buffer` is the replay of one device, with regrets. A start is used with the probability
    `share`, but never while the buffer has no position that can be played on: with more than
    `adjudicate_empties` empty squares, if that is not 0.

    Of the `k = num_candidates` rows that are drawn uniformly for a start, the one with the largest
    regret is taken. So the row with rank `r` of `n` in ascending order of regret has the
    probability `(r**k - (r - 1)**k) / n**k`.
    """
    share_key, row_key = jax.random.split(key)
    is_open = jnp.arange(buffer.value.shape[0]) < buffer.size[0]
    if adjudicate_empties:
        is_open &= ~endings.is_ending(game, game.unpack(buffer.board), adjudicate_empties)
    num_open = jnp.cumsum(is_open, dtype=jnp.int32)
    last = num_open[-1]
    rank = jax.random.randint(row_key, (*shape, num_candidates), 0, jnp.maximum(last, 1))
    row = jnp.searchsorted(num_open, rank, side="right")
    assert buffer.regret is not None
    best = buffer.regret[row].argmax(axis=-1, keepdims=True)
    row = jnp.take_along_axis(row, best, axis=-1)[..., 0]
    is_used = (jax.random.uniform(share_key, shape) < share) & (last > 0)
    return ply_records.GamesInProgress(
        position=game.unpack(buffer.board[row]),
        ply=jnp.zeros(shape, jnp.int32),
        resignation=None,
        start_regret=jnp.where(is_used, buffer.regret[row], -1),
    )


def new_games(
    game: protocol.Game,
    key: jax.Array,
    num_games: int,
    *,
    min_opening_plies: int = 0,
    max_opening_plies: int = 0,
    adjudicate_empties: int = 0,
) -> ply_records.GamesInProgress:
    """Returns games after random openings, without a state of resignation.

    Opening plies count as played plies. An opening stops before a ply that would end the game or
    have it adjudicated.
    """
    num_plies = jax.random.randint(key, (num_games,), min_opening_plies, max_opening_plies + 1)
    return _play_randomly(game, key, num_plies, max_opening_plies, adjudicate_empties)


def spread_games(
    game: protocol.Game, key: jax.Array, num_games: int, *, adjudicate_empties: int = 0
) -> ply_records.GamesInProgress:
    """Returns games at plies spread evenly over a game's length, after random moves.

    As a game's length counts the squares of the board, or `max_plies` if that is less.

    Games that all begin at once would also end at once. The replay would then hold positions of
    about one ply at a time.
    """
    rows, columns = game.board_shape
    length = min(rows * columns, game.max_plies)
    num_plies = jnp.arange(num_games) % length
    return _play_randomly(game, key, num_plies, length, adjudicate_empties, begins_again=True)


def _play_randomly(
    game: protocol.Game,
    key: jax.Array,
    num_plies: jax.Array,
    max_plies: int,
    adjudicate_empties: int,
    *,
    begins_again: bool = False,
) -> ply_records.GamesInProgress:
    """Returns games after `num_plies` `[B]` random moves, at most `max_plies`.

    A move that would end the game is not played, or the game begins again in its place.
    """
    start = ply_records.GamesInProgress(
        position=game.start(*num_plies.shape), ply=jnp.zeros_like(num_plies), resignation=None
    )

    def advance(ply: jax.Array, games: ply_records.GamesInProgress) -> Any:
        action = game.random_action(jax.random.fold_in(key, ply), games.position)
        step = game.step(games.position, action)
        is_end = step.discount == 0
        if adjudicate_empties:
            is_end |= endings.is_ending(game, step.position, adjudicate_empties)
        after = ply_records.GamesInProgress(step.position, games.ply + 1, None)
        after = protocol.where(is_end, start if begins_again else games, after)
        return protocol.where(ply < num_plies, after, games)

    return jax.lax.fori_loop(0, max_plies, advance, start)
