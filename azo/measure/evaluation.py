"""How strong the network of a run is while it trains: matches against a fixed opponent."""

from typing import Annotated

import jax
import pydantic

from azo.games import protocol
from azo.measure import arena, players


class EvaluationConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Matches against a fixed opponent during a run."""

    every: pydantic.NonNegativeInt = 10
    """Iterations from one evaluation to the next; 0 evaluates only at the end of the run."""
    num_games: Annotated[int, pydantic.Field(ge=2, multiple_of=2)] = 128
    """Games a match. Each opening is played twice, with both colours."""
    num_simulations: pydantic.PositiveInt = 100
    """Simulations a move of the network."""
    opponent: str = "rollouts:100"
    """Opponent: random, greedy, iagno:LEVEL, alphabeta:DEPTH, rollouts:N or a checkpoint's path."""
    opening_plies: Annotated[int, pydantic.Field(ge=0, multiple_of=2)] = 4
    """Random plies at the start of each game, so that games differ; even: black moves first."""
    until_score: Annotated[float, pydantic.Field(gt=0, le=1)] | None = None
    """The run ends when a match reaches this score."""


def is_due(config: EvaluationConfig, num_iterations: int, *, is_last: bool) -> bool:
    """Returns whether to evaluate after so many iterations."""
    return is_last or (config.every > 0 and num_iterations % config.every == 0)


def against_opponent(
    game: protocol.Game,
    trained: players.TrainedNetwork,
    opponent: players.Player,
    key: jax.Array,
    config: EvaluationConfig,
) -> arena.MatchResult:
    """Plays a match of the network, searching greedily, against the opponent.

    `opponent` is what `players.parse` makes of the setting of that name, once a run. The first
    match compiles; later ones with new variables do not.
    """
    return arena.play_match(
        game,
        players.network_player(game, trained, config.num_simulations),
        opponent,
        key,
        num_games=config.num_games,
        opening_plies=config.opening_plies,
    )
