"""Generations: the games and the learning of one actor network, and the gate to the next.

Without a gate self-play always uses the newest network. With a gate it uses the actor's: at the end
of a generation the learner's network plays a match against it, and takes its place if it passes.
The trainer plays the match.
"""

from typing import Annotated, Any, Literal

import pydantic
import scipy.stats

IterationKind = Literal["play_and_learn", "play", "learn"]
_SIGNIFICANT = 0.05  # probability of such a match, or a better one, between equals


class ScheduledSettings(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Settings that change as a generation begins."""

    start: pydantic.PositiveInt
    """Generation from which on they hold; the first is 0."""
    set: dict[str, Any]
    """Settings by their full names, such as {"search.num_simulations" = 200}."""


class GenerationConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """How long a generation lasts."""

    num_games: pydantic.NonNegativeInt = 0
    """Games of a generation; 0: every iteration is one."""
    num_samples: pydantic.NonNegativeInt = 0
    """Examples to learn from after these games; 0: learn while playing, in every iteration."""
    schedule: tuple[ScheduledSettings, ...] = ()
    """Settings of later generations, such as simulations and learning rate."""


class GateConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Which network self-play takes up."""

    is_enabled: bool = False
    """Play with the best network so far; without a gate, always with the newest."""
    num_games: Annotated[int, pydantic.Field(ge=2, multiple_of=2)] = 64
    """Games of a match: pairs from the same opening with both colours."""
    num_simulations: pydantic.PositiveInt = 64
    """Network evaluations a move in a match."""
    test: Literal["threshold", "significant"] = "threshold"
    """Pass by points, or by a one-sided binomial test of wins against losses at 5 %."""
    threshold: Annotated[float, pydantic.Field(ge=0, le=1)] = 0.55
    """Share of the points, draws as halves, that the new network has to exceed."""
    after_failure: Literal["play", "learn"] = "play"
    """Play another generation's games with the old network, or learn on without new games."""
    max_failures: pydantic.PositiveInt = 5
    """After so many failures in a row new games are played in any case."""


def next_iteration(
    config: GenerationConfig, *, num_games: int, num_samples: int
) -> IterationKind | None:
    """Returns the kind of a generation's next iteration, or None if the generation is complete.

    Args:
      config: the settings.
      num_games: games that the generation has finished.
      num_samples: examples that it has learned from.
    """
    if not config.num_samples:
        return "play_and_learn" if num_games < max(config.num_games, 1) else None
    if num_games < config.num_games:
        return "play"
    return "learn" if num_samples < config.num_samples else None


def passes(config: GateConfig, *, wins: int, draws: int, losses: int) -> bool:
    """Returns whether the learner's network passes the gate with the result of its match."""
    if config.test == "threshold":
        return (wins + draws / 2) / (wins + draws + losses) > config.threshold
    if not wins + losses:
        return False
    test = scipy.stats.binomtest(wins, wins + losses, alternative="greater")
    return bool(test.pvalue < _SIGNIFICANT)
