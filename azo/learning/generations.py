"""Gating: self-play goes on with the best network until the learner's beats it in a match.

Learning knows nothing of players and arenas, so the match comes in as a function.
"""

import dataclasses
from collections.abc import Callable
from typing import Annotated

import jax
import pydantic

from azo.learning import network

# Plays the first variables against the second, with a key; returns the first's score in [0, 1].
Match = Callable[[network.Variables, network.Variables, jax.Array], float]


class GateConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """When self-play takes up new parameters."""

    is_enabled: bool = False
    """Play with the best network so far; without a gate, always with the newest."""
    every: pydantic.PositiveInt = 20
    """Iterations between matches."""
    num_games: Annotated[int, pydantic.Field(ge=2, multiple_of=2)] = 64
    """Games of a match: pairs from the same opening with both colours."""
    num_simulations: pydantic.PositiveInt = 64
    """Network evaluations a move in a match."""
    threshold: Annotated[float, pydantic.Field(ge=0, le=1)] = 0.55
    """Score, draws as halves, that the new network has to exceed."""


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What a gate's match says."""

    score: float  # of the new network against the best, draws as halves
    is_promoted: bool


def judge(
    config: GateConfig,
    match: Match,
    new: network.Variables,
    best: network.Variables,
    key: jax.Array,
) -> Verdict:
    """Plays the new network against the best; it has to exceed the threshold."""
    score = match(new, best, key)
    return Verdict(score=score, is_promoted=score > config.threshold)
