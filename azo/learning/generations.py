"""Generations: the games and the learning of one actor network, and the gate to the next.

Without a gate, self-play always uses the learner's newest network. With a gate, the trainer plays a
match of the learner's network against the actor's at the end of a generation. The learner's network
replaces the actor's if it passes.
"""

from typing import Annotated, Any, ClassVar, Literal

import pydantic
import scipy.stats

from azo.settings import setting_types

IterationKind = Literal["play_and_learn", "play", "learn"]
_SIGNIFICANCE_LEVEL = 0.05
_WITH_GATE = setting_types.needs("is_enabled", True)
MAX_FAILURES = 5  # in a row, after which new games are played in any case


class ScheduledSettings(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Settings that change later in the run."""

    share: Annotated[float, pydantic.Field(ge=0, lt=1)] = 0.0
    """Share of the run after which these settings apply, if `start` is reached too."""
    start: setting_types.NonNegativeInt = 0
    """First generation with these settings, counted from 0, if `share` is reached too."""
    set: dict[str, Any]
    """Settings by full name, such as {"search.num_simulations" = 200}."""

    @pydantic.model_validator(mode="after")
    def _check_start(self) -> "ScheduledSettings":
        if not self.share and not self.start:
            raise ValueError("share or start: give at least one of them")
        return self

    def holds(self, generation: int, share: float) -> bool:
        """Returns whether the settings hold in a generation, after a share of the run."""
        return generation >= self.start and share >= self.share


class GenerationConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Length of a generation."""

    num_games: setting_types.NonNegativeInt = setting_types.never(0)
    """Games per generation; 0: every iteration is a generation."""
    num_samples: setting_types.NonNegativeInt = setting_types.never(0)
    """Training examples drawn after the games of a generation; 0: learn in every iteration."""
    schedule: tuple[ScheduledSettings, ...] = setting_types.never(())
    """Settings that change later in the run."""


class GateConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Gate between generations."""

    is_enabled: bool = setting_types.never(False)
    """Self-play uses the best network so far, instead of the newest."""
    num_games: setting_types.PairedGames = setting_types.in_schedule(64)
    """Games per match. Each opening is played twice, with both colours."""
    num_simulations: setting_types.Simulations = setting_types.in_schedule(64)
    """Simulations per move in a match."""
    test: Literal["threshold", "significant"] = setting_types.in_schedule("threshold")
    """How a network passes: by its share of the points, or by a one-sided binomial test at 5 %."""
    threshold: Annotated[float, pydantic.Field(ge=0, le=1)] = setting_types.in_schedule(0.55)
    """Share of the points that the new network must exceed."""
    after_failure: Literal["play", "learn"] = setting_types.in_schedule("play")
    """After a failure: play new games with the old network, or learn without new games. After five
    failures in a row new games are played in any case."""

    NEEDS: ClassVar[setting_types.Table] = {
        "num_games": (_WITH_GATE,),
        "num_simulations": (_WITH_GATE,),
        "test": (_WITH_GATE,),
        "threshold": (_WITH_GATE, setting_types.needs("test", "threshold")),
        "after_failure": (_WITH_GATE,),
    }


def next_iteration(
    config: GenerationConfig, *, num_games: int, num_samples: int
) -> IterationKind | None:
    """Returns the kind of a generation's next iteration, or None if the generation is complete.

    It has finished `num_games` games and learned from `num_samples` examples.
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
    return bool(test.pvalue < _SIGNIFICANCE_LEVEL)
