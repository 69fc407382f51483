"""Resignation: hopeless games end early; games played out in any case say what is hopeless.

A player resigns when the search's value falls below a threshold. Some games are always played out.
For each threshold of a grid they show who would have resigned first, and whether that player went
on to win. The threshold in use is the highest for which fewer than `max_false_positives` of the
resigned games could have been won (Silver et al., 2017, https://doi.org/10.1038/nature24270).
"""

import dataclasses
from typing import Annotated

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import pydantic

from azo.games import protocol

# Values that may be taken as the threshold, from the most cautious on.
THRESHOLDS = -np.arange(99, 0, -1, dtype=np.float32) / 100
NEVER = -2.0  # no value is as low


class ResignationConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Whether and when hopeless games are resigned."""

    is_enabled: bool = False
    """End games that are hopeless for the player to move."""
    played_out_share: Annotated[float, pydantic.Field(gt=0, le=1)] = 0.1
    """Share of games that are played to their end in any case, to measure on."""
    max_false_positives: Annotated[float, pydantic.Field(gt=0, lt=1)] = 0.05
    """Of the resigned games fewer than this share could have been won."""
    min_games: pydantic.PositiveInt = 50
    """Nobody resigns by a threshold at which fewer played-out games would have been resigned."""
    half_life: pydantic.PositiveFloat = 2000.0
    """Played-out games after which an earlier one counts half."""


@flax.struct.dataclass
class ResignationState:
    """What is known of games under way; `K` thresholds."""

    is_played_out: jax.Array  # [B] bool, goes on to the end in any case
    resigned_by: jax.Array  # [B, K] int8, whose value first fell below: 1 who began, -1 other, 0


@flax.struct.dataclass
class ResignationCounts:
    """Played-out games by threshold; older ones count less."""

    num_games: jax.Array  # [] float32, played out to the end
    resigned: jax.Array  # [K] float32, that somebody would have resigned
    won: jax.Array  # [K] float32, that this player won in the end: false positives


def begin(key: jax.Array, num_games: int, config: ResignationConfig) -> ResignationState:
    """Returns the state over new games, and draws which of them are played out."""
    return ResignationState(
        is_played_out=jax.random.uniform(key, (num_games,)) < config.played_out_share,
        resigned_by=jnp.zeros((num_games, len(THRESHOLDS)), jnp.int8),
    )


def empty_counts() -> ResignationCounts:
    """Returns a counts of no games."""
    zeros = jnp.zeros(len(THRESHOLDS), jnp.float32)
    return ResignationCounts(num_games=jnp.float32(0), resigned=zeros, won=zeros)


def apply(
    state: ResignationState,
    value: jax.Array,
    ply: jax.Array,
    threshold: jax.Array,
    step: protocol.Step,
) -> tuple[protocol.Step, ResignationState]:
    """Lets players resign instead of moving.

    Args:
      state: over the games `[B]`.
      value: `[B]` float32, the search's, for the player to move.
      ply: `[B]` int32, plies played so far.
      threshold: `[]` float32, from `threshold`.
      step: what the chosen moves do.

    Returns:
      The steps, the last and lost where the player resigns, and the state.
    """
    mover = jnp.where(ply % 2 == 0, 1, -1).astype(jnp.int8)
    is_below = value[:, None] < jnp.asarray(THRESHOLDS)[None]
    first = jnp.where((state.resigned_by == 0) & is_below, mover[:, None], state.resigned_by)
    resigns = ~state.is_played_out & (value < threshold)
    step = dataclasses.replace(
        step,
        reward=jnp.where(resigns, -1.0, step.reward),
        discount=jnp.where(resigns, 0.0, step.discount),
    )
    return step, dataclasses.replace(state, resigned_by=first)


def count(
    state: ResignationState, ply: jax.Array, reward: jax.Array, discount: jax.Array
) -> ResignationCounts:
    """Returns what the games that end with these plies `[..., B]` say of each threshold.

    Args:
      state: over the games as each ply left it, `[..., B]`.
      ply: `[..., B]` int32, plies played before.
      reward: `[..., B]` float32, result for the player who moved.
      discount: `[..., B]` float32, 0 on the last ply of a game.
    """
    is_counted = state.is_played_out & (discount == 0)
    result = jnp.where(ply % 2 == 0, reward, -reward)  # of the player who began
    resigned = is_counted[..., None] & (state.resigned_by != 0)
    won = resigned & (state.resigned_by == result[..., None])
    plies = tuple(range(is_counted.ndim))
    return ResignationCounts(
        num_games=is_counted.sum(dtype=jnp.float32),
        resigned=resigned.sum(axis=plies, dtype=jnp.float32),
        won=won.sum(axis=plies, dtype=jnp.float32),
    )


def update_counts(
    counts: ResignationCounts, new: ResignationCounts, config: ResignationConfig
) -> ResignationCounts:
    """Returns the counts with new games, the earlier ones faded."""
    kept = 0.5 ** (new.num_games / config.half_life)
    return jax.tree.map(lambda old, x: kept * old + x, counts, new)


def threshold(counts: ResignationCounts, config: ResignationConfig) -> tuple[jax.Array, jax.Array]:
    """Returns the threshold to resign by, and its share of false positives; both `[]` float32.

    `NEVER` and NaN as long as no threshold is known to be safe.
    """
    share = counts.won / jnp.maximum(counts.resigned, 1e-9)
    is_safe = (share < config.max_false_positives) & (counts.resigned >= config.min_games)
    highest = len(THRESHOLDS) - 1 - jnp.argmax(is_safe[::-1])
    is_any = is_safe.any()
    return (
        jnp.where(is_any, jnp.asarray(THRESHOLDS)[highest], NEVER),
        jnp.where(is_any, share[highest], jnp.nan),
    )
