"""Optional rules of self-play. All have one signature, and `selfplay` applies them in one place.

A rule changes the record of a ply after its search and move, and before finished games restart. A
rule that is switched off costs nothing: it is not in the list that `select` returns.
"""

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp

from azo.games import othello, protocol
from azo.learning import endings, ply_records, resignation
from azo.search import explored, improvement, objective

# Arguments: the games before the ply, the result of its search, its record. `T` is left out.
Rule = Callable[
    [ply_records.GamesInProgress, improvement.SearchResult, ply_records.Turns], ply_records.Turns
]


def select(
    game: protocol.Game,
    *,
    num_explored: int,
    threshold: jax.Array | None,
    adjudicate_empties: int,
) -> list[Rule]:
    """Returns the rules in force, in the order in which they apply.

    Args:
      game: the rules of the game.
      num_explored: explored positions a ply; 0 for none.
      threshold: `[]` float32, value below which a player resigns; None if nobody resigns.
      adjudicate_empties: number of empty squares at which games are adjudicated; 0 for never.
    """
    chosen: list[Rule] = []
    if num_explored:
        chosen.append(explore(game, num_explored))
    if threshold is not None:
        chosen.append(resign(threshold))
    if adjudicate_empties:
        chosen.append(adjudicate(game, adjudicate_empties))
    return chosen


def explore(game: protocol.Game, num_positions: int) -> Rule:
    """Adds the most visited positions that were searched but not played."""

    def rule(games, result, turn):
        del games
        positions = explored.most_visited(game, result.tree, result.action, num_positions)
        return dataclasses.replace(turn, explored=positions)

    return rule


def resign(threshold: jax.Array) -> Rule:
    """Ends games that a player resigns, as a loss for that player."""

    def rule(games, result, turn):
        resigns, state = resignation.apply(games.resignation, result.value, games.ply, threshold)
        plies = dataclasses.replace(
            turn.plies,
            score=jnp.where(resigns, ply_records.UNKNOWN_SCORE, turn.plies.score),
            reward=jnp.where(resigns, -1.0, turn.plies.reward),
            discount=jnp.where(resigns, 0.0, turn.plies.discount),
        )
        return dataclasses.replace(turn, plies=plies, resignation=state)

    return rule


def adjudicate(game: protocol.Game, max_empties: int) -> Rule:
    """Ends games with few empty squares; `score_adjudicated` later finds their results."""

    def rule(games, result, turn):
        del games, result
        goes_on = turn.plies.discount != 0
        is_adjudicated = goes_on & endings.is_ending(game, turn.after, max_empties)
        discount = jnp.where(is_adjudicated, 0.0, turn.plies.discount)
        plies = dataclasses.replace(turn.plies, discount=discount)
        return dataclasses.replace(turn, plies=plies, is_adjudicated=is_adjudicated)

    return rule


def score_adjudicated(
    game: protocol.Game,
    key: jax.Array,
    turns: ply_records.UnlabelledTurns,
    config: endings.EndingsConfig,
    moves: endings.LineMoves | None = None,
    *,
    score_share: float,
) -> tuple[ply_records.UnlabelledTurns, endings.ExactLines]:
    """Solves the endings of adjudicated games, all plies at once.

    Args:
      game: the rules.
      key: for the choice among best moves, and of the positions to keep.
      turns: `[T, B]`, adjudicated.
      config: number of empty squares, and share of late positions.
      moves: `[K, T, B]`, from the host's solver; None solves here.
      score_share: of the rewards, see `objective`.

    Returns:
      The turns with exact scores and rewards, and in `after` the ends of the lines seen by the
      same side; and the lines `[K, T * B]`.
    """
    assert isinstance(game, othello.Othello), game.name
    assert turns.is_adjudicated is not None
    plies, is_adjudicated = turns.plies, turns.is_adjudicated
    position, is_requested = jax.tree.map(jnp.ravel, (turns.after, is_adjudicated))
    if moves is None:
        empties = config.adjudicate_empties
        lines = endings.solve(game, key, position, is_requested, max_empties=empties)
    else:
        moves = jax.tree.map(lambda x: x.reshape(x.shape[0], -1, *x.shape[3:]), moves)
        lines = endings.replay_lines(game, position, is_requested, moves)
    end = game.unpack(lines.end.reshape(plies.board.shape))
    score = -game.final_score(end)
    reward = objective.of_score(game, score, score_share)
    after = protocol.where(is_adjudicated, end, turns.after)
    if config.late_share < 1:
        lines = endings.thinned(game, jax.random.fold_in(key, 0), lines, config.late_share)
    plies = dataclasses.replace(
        plies,
        score=jnp.where(is_adjudicated, score.astype(jnp.int8), plies.score),
        reward=jnp.where(is_adjudicated, reward, plies.reward),
    )
    return dataclasses.replace(turns, plies=plies, after=after), lines
