"""Elo of the generations of a run: matches with fixed players and with earlier generations.

At regular intervals the network that plays is kept as a generation, named by its iteration. It
meets a pool of fixed players and some earlier generations, and all matches of the run so far are
rated together. Players of the `ladder` in the pool keep their ratings, so that runs can be
compared. Matches between generations show a run that moves in circles, where each generation beats
the one before and loses to an older one. Scores against the pool alone would not.

A match and a rating are events of the run, of the kinds `MATCH` and `RATING`.
"""

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import jax
import numpy as np
import pydantic

from azo.games import protocol, setting_types
from azo.measure import arena, cycles, elo, engine_protocols, external_engines, ladder, players
from azo.measure.tournament import engine_match

MATCH = "rating_match"
"""Kind of event: a match of the generation of the event's iteration."""
RATING = "rating"
"""Kind of event: the Elo of a new generation."""

Player = str | int
"""The name of a player of the pool, or the iteration of a generation."""

Opponent = players.Player | engine_protocols.ExternalEngineConfig
"""A player of the pool or a generation, ready to play."""

Event = Mapping[str, Any]


class RatingsConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Networks kept during a run, and their Elo."""

    every: setting_types.NonNegativeInt = 0
    """Iterations from one kept and rated network to the next; 0: none."""
    every_seconds: setting_types.PositiveFloat | None = None
    """Processor seconds of the iterations from one kept and rated network to the next, as in
    run.max_processor_seconds; in place of `every`."""
    pool: Annotated[tuple[str, ...], pydantic.Field(min_length=1)] = (
        "random",
        "greedy",
        "rollouts:100",
    )
    """Players that every generation meets, named as for `azo evaluate`. Players of the ladder, such
    as patterns:4, keep their Elo; without one the Elo of random, or of the first player, is 0.
    NAME:LEVEL is an engine of configs/engines, such as gtp-rhino:3, left out unless installed."""
    num_earlier: setting_types.NonNegativeInt = 4
    """Earlier generations that each one meets, evenly spread from the first to the latest."""
    num_games: setting_types.PairedGames = 64
    """Games of each match. Each opening is played twice, with both colours."""
    num_simulations: setting_types.Simulations = 100
    """Simulations a move of all generations."""

    @pydantic.model_validator(mode="after")
    def _check_pool(self) -> "RatingsConfig":
        if len(set(self.pool)) < len(self.pool):
            raise ValueError(f"ratings.pool names a player twice: {', '.join(self.pool)}")
        if self.every and self.every_seconds is not None:
            raise ValueError(
                f"ratings.every is {self.every} and ratings.every_seconds {self.every_seconds:g}:"
                " set one of them"
            )
        return self

    @property
    def is_enabled(self) -> bool:
        """Whether there are ratings."""
        return self.every > 0 or self.every_seconds is not None

    def is_due(self, iteration: int, seconds: float, rated_seconds: float) -> bool:
        """Returns whether to rate the network after an iteration.

        By seconds, that is as soon as a multiple of the interval has passed since the last rating.

        Args:
          iteration: iterations done.
          seconds: processor seconds of them.
          rated_seconds: those at the last rating, 0 before the first.
        """
        if self.every_seconds is not None:
            return seconds // self.every_seconds > rated_seconds // self.every_seconds
        return self.every > 0 and iteration > 0 and iteration % self.every == 0

    @property
    def anchor(self) -> str:
        """The player whose Elo is 0."""
        if not ladder.RATINGS.keys().isdisjoint(self.pool):
            return ladder.ANCHOR
        return "random" if "random" in self.pool else self.pool[0]


class RatingEvent(NamedTuple):
    """A match or a rating, for the metrics of a run."""

    kind: str  # MATCH or RATING
    fields: dict[str, Any]
    text: str = ""  # a rating in words


def rate(
    config: RatingsConfig,
    game: protocol.Game,
    player_of: Callable[[Player], Opponent],
    key: jax.Array,
    iteration: int,
    *,
    earlier: Sequence[int],
    matches: Sequence[Event],
    opening_plies: int,
) -> Iterator[RatingEvent]:
    """Plays the missing matches of a generation, and yields each of them and then the rating.

    `player_of` returns a player of the pool or a generation. `key` and `iteration` are those of the
    generation, `earlier` the iterations of the others, `matches` the events of matches so far.
    """
    start = time.perf_counter()
    matches, failures = list(matches), list[str]()
    have_met = [opponent(event) for event in matches if event["iteration"] == iteration]
    opponents: list[Player] = [*config.pool, *spread(config.num_earlier, earlier)]
    for number, other in enumerate(opponents):
        if other in have_met:
            continue
        own, against = player_of(iteration), player_of(other)
        play: Callable[..., arena.MatchResult] = arena.play_match
        if isinstance(against, engine_protocols.ExternalEngineConfig):
            play = engine_match.play
        try:
            result = play(
                game,
                own,
                against,
                jax.random.fold_in(key, number),
                num_games=config.num_games,
                opening_plies=opening_plies,
            )
        except external_engines.EngineError as error:  # at its start; the run goes on
            failures.append(f"; {error}")
            continue
        fields = match_fields(other, result)
        yield RatingEvent(MATCH, fields)
        matches.append({"iteration": iteration} | fields)

    if not any(event["iteration"] == iteration for event in matches):
        return  # all opponents have failed
    pairings = [pairing(event) for event in matches]
    rated = ladder.rate(pairings, config.anchor)
    (rating,) = [one for one in rated.standings if one.name == name(iteration)]
    low, high = rating.interval
    circles = cycles.find_cycles(pairings)
    text = f"Elo {rating.rating:.0f}, 95 % {low:.0f} to {high:.0f} ({config.anchor} 0)" + "".join(
        failures
    )
    yield RatingEvent(
        RATING,
        {
            "rating/elo": rating.rating,
            "rating/elo_low": low,
            "rating/elo_high": high,
            "rating/anchor": config.anchor,
            "rating/cycle": str(circles[0]) if circles else None,
            "time/rating_seconds": round(time.perf_counter() - start, 2),
        },
        f"{text}; cycle: {circles[0]}" if circles else text,
    )


def spread(number: int, generations: Sequence[int]) -> list[int]:
    """Returns some earlier generations, evenly spread over the run from the first to the latest.

    A single one is the latest. Otherwise all generations meet the first, so any two that met form a
    triangle with it in which a cycle can show, and another with every player of the pool.
    """
    if number == 1:
        return list(generations[-1:])
    number = min(number, len(generations))
    places = np.linspace(0, len(generations) - 1, number).round().astype(int)
    return [generations[place] for place in places]


def name(player: Player) -> str:
    """Returns the name of a player in tables."""
    return player if isinstance(player, str) else f"iteration {player}"


def match_fields(opponent: Player, result: arena.MatchResult) -> dict[str, Any]:
    """Returns the fields of a match's event."""
    kind = "earlier" if isinstance(opponent, int) else "opponent"
    fields = {kind: opponent} | dataclasses.asdict(result)
    fields["pair_scores"] = list(result.pair_scores or ())  # the metrics take lists
    return {f"{MATCH}/{field}": value for field, value in fields.items()}


def opponent(event: Event) -> Player:
    """Returns the opponent of the generation in a match's event."""
    iteration = event.get(f"{MATCH}/earlier")
    return event[f"{MATCH}/opponent"] if iteration is None else iteration


def pairing(event: Event) -> elo.Pairing:
    """Returns the match of an event."""
    wins, draws, losses = (event[f"{MATCH}/{field}"] for field in ("wins", "draws", "losses"))
    names = name(event["iteration"]), name(opponent(event))
    return elo.Pairing(*names, wins, draws, losses, tuple(event[f"{MATCH}/pair_scores"]))
