"""Starts of new games: random openings, or archived positions of earlier games.

The archive is the device's own replay, as in Go-Exploit (Trudeau and Bowling, 2023,
arXiv:2302.12359), so every device draws from its own games. A row of the replay has a regret: the
difference of the search's value from the result of the game. Of several drawn rows, the one with
the largest regret can be taken, so that games begin where the search was wrong. The aim is that of
Tsai et al. (2026, arXiv:2602.20809), who also train a network to predict regret.
"""

import dataclasses
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


def with_archived(
    games: ply_records.GamesInProgress, archived: ply_records.GamesInProgress
) -> ply_records.GamesInProgress:
    """Returns new games, at the archived positions `[B]` where these are used."""
    assert archived.start_regret is not None
    games = dataclasses.replace(games, start_regret=archived.start_regret)
    return protocol.where(archived.start_regret >= 0, archived, games)


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
    start = ply_records.GamesInProgress(
        position=game.start(num_games), ply=jnp.zeros(num_games, jnp.int32), resignation=None
    )
    num_plies = jax.random.randint(key, (num_games,), min_opening_plies, max_opening_plies + 1)

    def advance(index: jax.Array, games: ply_records.GamesInProgress) -> Any:
        after, is_end = _random_ply(game, jax.random.fold_in(key, index), games, adjudicate_empties)
        return protocol.where((index < num_plies) & ~is_end, after, games)

    return jax.lax.fori_loop(0, max_opening_plies, advance, start)


def spread_games(
    game: protocol.Game, key: jax.Array, num_games: int, *, adjudicate_empties: int = 0
) -> ply_records.GamesInProgress:
    """Returns games at plies spread evenly over a game's length, after random moves.

    Games that all begin at once would also end at once. The replay would then hold positions of
    about one ply at a time.
    """
    start = new_games(game, key, num_games)
    rows, columns = game.board_shape
    target = jnp.arange(num_games) % (rows * columns)

    def advance(ply: jax.Array, games: ply_records.GamesInProgress) -> Any:
        after, is_end = _random_ply(game, jax.random.fold_in(key, ply), games, adjudicate_empties)
        return protocol.where(ply < target, protocol.where(is_end, start, after), games)

    return jax.lax.fori_loop(0, rows * columns, advance, start)


def _random_ply(
    game: protocol.Game,
    key: jax.Array,
    games: ply_records.GamesInProgress,
    adjudicate_empties: int,
) -> tuple[ply_records.GamesInProgress, jax.Array]:
    """Returns the games after a random move, and `[B]` bool, whether it ends them."""
    step = game.step(games.position, game.random_action(key, games.position))
    is_end = step.discount == 0
    if adjudicate_empties:
        is_end |= endings.is_ending(game, step.position, adjudicate_empties)
    return ply_records.GamesInProgress(step.position, games.ply + 1, None), is_end
