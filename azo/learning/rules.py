"""Optional rules of self-play: each changes the record of a ply after its search and move."""

import dataclasses

import jax
import jax.numpy as jnp

from azo.games import othello, protocol
from azo.learning import endings, ply_records, resignation
from azo.search import improvement


def resign(
    games: ply_records.GamesInProgress,
    result: improvement.SearchResult,
    turn: ply_records.Turns,
    threshold: jax.Array,
) -> ply_records.Turns:
    """Ends games that a player resigns, as a loss for that player.

    Args:
      games: before the ply.
      result: of the search.
      turn: the record of the ply, without the axis `T`.
      threshold: `[]` float32, value below which a player resigns.
    """
    resigns, state = resignation.apply(games.resignation, result.value, games.ply, threshold)
    plies = dataclasses.replace(
        turn.plies,
        reward=jnp.where(resigns, -1.0, turn.plies.reward),
        discount=jnp.where(resigns, 0.0, turn.plies.discount),
    )
    return dataclasses.replace(turn, plies=plies, resignation=state)


def adjudicate(game: protocol.Game, turn: ply_records.Turns, max_empties: int) -> ply_records.Turns:
    """Ends games with few empty squares; `score_adjudicated` later finds their results."""
    goes_on = turn.plies.discount != 0
    is_adjudicated = goes_on & endings.is_ending(game, turn.after, max_empties)
    discount = jnp.where(is_adjudicated, 0.0, turn.plies.discount)
    plies = dataclasses.replace(turn.plies, discount=discount)
    return dataclasses.replace(turn, plies=plies, is_adjudicated=is_adjudicated)


def discard(turn: ply_records.Turns) -> ply_records.Turns:
    """Keeps a ply out of the replay: the rule for the fast searches of the playout cap."""
    plies = dataclasses.replace(turn.plies, is_example=jnp.zeros_like(turn.plies.is_example))
    positions = turn.explored
    if positions is not None:
        is_valid = jnp.zeros_like(positions.is_valid)
        positions = dataclasses.replace(positions, is_valid=is_valid)
    return dataclasses.replace(turn, plies=plies, explored=positions)


def score_adjudicated(
    game: protocol.Game, key: jax.Array, turns: ply_records.Turns, max_empties: int
) -> tuple[ply_records.Turns, endings.ExactLines]:
    """Solves the endings of adjudicated games, all plies at once.

    Returns:
      The turns with exact rewards, and in `after` the ends of the lines seen by the same side;
      and the lines `[K, T * B]`.
    """
    assert isinstance(game, othello.Othello), game.name
    assert turns.is_adjudicated is not None
    plies, is_adjudicated = turns.plies, turns.is_adjudicated
    position, is_requested = jax.tree.map(jnp.ravel, (turns.after, is_adjudicated))
    lines = endings.solve(game, key, position, is_requested, max_empties=max_empties)
    end = game.unpack(lines.end.reshape(plies.board.shape))
    reward = jnp.where(is_adjudicated, -game.result(end), plies.reward)
    after = jax.tree.map(lambda x, y: jnp.where(is_adjudicated, x, y), end, turns.after)
    plies = dataclasses.replace(plies, reward=reward)
    return dataclasses.replace(turns, plies=plies, after=after), lines
