"""Gating: self-play goes on with the best network until the learner's beats it in a match.

Learning knows nothing of players and arenas, so the match comes in as a function.
"""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import jax
import jax.numpy as jnp
import pydantic

from azo.learning import network

if TYPE_CHECKING:
    from azo.learning import state as states

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


def gate(
    state: "states.RunState", config: GateConfig, match: Match
) -> tuple["states.RunState", float]:
    """Plays the learner's network against the best, and promotes it if it exceeds the threshold.

    Returns:
      The state, with a new best network and generation if promoted, and the match's score.
    """
    key = jax.random.fold_in(jax.random.fold_in(state.key, state.iteration), 1)
    assert state.best is not None
    score = match(state.variables(), state.best, key)
    if score <= config.threshold:
        return state, score
    best = jax.tree.map(jnp.copy, state.variables())  # the iteration donates the learner's own
    return dataclasses.replace(state, best=best, generation=state.generation + 1), score
