"""Elo per generation of a run: whom each kept network meets, and how results are written down.

Every so many iterations the network that plays is kept, a generation by the name of its iteration.
It meets a pool of fixed players and some earlier generations, and all matches of the run so far are
rated together. Scores against the pool alone would not show a run that moves in circles, where each
generation beats the one before and loses to an older one; a cross-table of generations does.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import pydantic

from azo.measure import arena, elo

MATCH = "rating_match"
"""Kind of event: a match, told by the generation of the event's iteration."""
RATING = "rating"
"""Kind of event: the Elo of a new generation."""

Player = str | int
"""A player of the pool, as it is named there, or the generation of an iteration."""


class RatingsConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Networks kept during a run, and their Elo."""

    every: pydantic.NonNegativeInt = 0
    """Iterations from one kept and rated network to the next; 0: none."""
    pool: Annotated[tuple[str, ...], pydantic.Field(min_length=1)] = (
        "random",
        "greedy",
        "rollouts:100",
    )
    """Players that every generation meets, as azo.evaluate names them; random has 0, or else the
    first of them."""
    num_earlier: pydantic.NonNegativeInt = 4
    """Earlier generations that each meets too, evenly spread from the first to the latest."""
    num_games: Annotated[int, pydantic.Field(ge=2, multiple_of=2)] = 64
    """Games of each match. Each opening is played twice, with both colours."""
    num_simulations: pydantic.PositiveInt = 100
    """Simulations a move of all generations."""

    @pydantic.model_validator(mode="after")
    def _check_pool(self) -> "RatingsConfig":
        if len(set(self.pool)) < len(self.pool):
            raise ValueError(f"ratings.pool names a player twice: {', '.join(self.pool)}")
        return self

    @property
    def anchor(self) -> str:
        """The player whose Elo is 0."""
        return "random" if "random" in self.pool else self.pool[0]


def is_due(config: RatingsConfig, num_iterations: int) -> bool:
    """Returns whether to keep and rate a network after so many iterations."""
    return config.every > 0 and num_iterations > 0 and num_iterations % config.every == 0


def name(player: Player) -> str:
    """Returns what a player is called in tables."""
    return player if isinstance(player, str) else f"iteration {player}"


def earlier(config: RatingsConfig, generations: Sequence[int]) -> list[int]:
    """Returns those of the earlier generations that a new one meets.

    They are spread evenly over the run, from the first to the latest; if it is to be one, it is the
    latest. So all have met the first, and any two that met make a triangle with it in which a cycle
    could show; another with every player of the pool.
    """
    if config.num_earlier == 1:
        return list(generations[-1:])
    number = min(config.num_earlier, len(generations))
    places = np.linspace(0, len(generations) - 1, number).round().astype(int)
    return [generations[place] for place in places]


def match_fields(opponent: Player, result: arena.MatchResult) -> dict[str, Any]:
    """Returns what the event of a match says."""
    assert result.pair_scores is not None
    found = {
        "earlier" if isinstance(opponent, int) else "opponent": opponent,
        "wins": result.wins,
        "draws": result.draws,
        "losses": result.losses,
        "pair_scores": list(result.pair_scores),
    }
    return {f"{MATCH}/{field}": value for field, value in found.items()}


def opponent(event: Mapping[str, Any]) -> Player:
    """Returns whom the generation met in the match of an event."""
    iteration = event.get(f"{MATCH}/earlier")
    return event[f"{MATCH}/opponent"] if iteration is None else iteration


def pairing(event: Mapping[str, Any]) -> elo.Pairing:
    """Returns the match of an event."""
    wins, draws, losses = (event[f"{MATCH}/{field}"] for field in ("wins", "draws", "losses"))
    return elo.Pairing(
        first=name(event["iteration"]),
        second=name(opponent(event)),
        wins=wins,
        draws=draws,
        losses=losses,
        pair_scores=tuple(event[f"{MATCH}/pair_scores"]),
    )
