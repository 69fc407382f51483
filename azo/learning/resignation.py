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
class Watch:
    """What is known of games under way; `K` thresholds."""

    is_played_out: jax.Array  # [B] bool, goes on to the end in any case
    resigned_by: jax.Array  # [B, K] int8, whose value first fell below: 1 who began, -1 other, 0


@flax.struct.dataclass
class Tally:
    """Played-out games by threshold; older ones count less."""

    num_games: jax.Array  # [] float32, played out to the end
    resigned: jax.Array  # [K] float32, that somebody would have resigned
    won: jax.Array  # [K] float32, that this player won in the end: false positives


def begin(key: jax.Array, num_games: int, config: ResignationConfig) -> Watch:
    """Returns the watch over new games, and draws which of them are played out."""
    return Watch(
        is_played_out=jax.random.uniform(key, (num_games,)) < config.played_out_share,
        resigned_by=jnp.zeros((num_games, len(THRESHOLDS)), jnp.int8),
    )


def empty_tally() -> Tally:
    """Returns a tally of no games."""
    zeros = jnp.zeros(len(THRESHOLDS), jnp.float32)
    return Tally(num_games=jnp.float32(0), resigned=zeros, won=zeros)


def consider(
    watch: Watch, value: jax.Array, ply: jax.Array, threshold: jax.Array, step: protocol.Step
) -> tuple[protocol.Step, Watch]:
    """Lets players resign instead of moving.

    Args:
      watch: over the games `[B]`.
      value: `[B]` float32, the search's, for the player to move.
      ply: `[B]` int32, plies played so far.
      threshold: `[]` float32, from `threshold`.
      step: what the chosen moves do.

    Returns:
      The steps, the last and lost where the player resigns, and the watch.
    """
    mover = jnp.where(ply % 2 == 0, 1, -1).astype(jnp.int8)
    is_below = value[:, None] < jnp.asarray(THRESHOLDS)[None]
    first = jnp.where((watch.resigned_by == 0) & is_below, mover[:, None], watch.resigned_by)
    resigns = ~watch.is_played_out & (value < threshold)
    step = dataclasses.replace(
        step,
        reward=jnp.where(resigns, -1.0, step.reward),
        discount=jnp.where(resigns, 0.0, step.discount),
    )
    return step, dataclasses.replace(watch, resigned_by=first)


def count(watch: Watch, ply: jax.Array, reward: jax.Array, discount: jax.Array) -> Tally:
    """Returns what the games that end with these plies `[..., B]` say of each threshold.

    Args:
      watch: over the games as each ply left it, `[..., B]`.
      ply: `[..., B]` int32, plies played before.
      reward: `[..., B]` float32, result for the player who moved.
      discount: `[..., B]` float32, 0 on the last ply of a game.
    """
    is_counted = watch.is_played_out & (discount == 0)
    result = jnp.where(ply % 2 == 0, reward, -reward)  # of the player who began
    resigned = is_counted[..., None] & (watch.resigned_by != 0)
    won = resigned & (watch.resigned_by == result[..., None])
    plies = tuple(range(is_counted.ndim))
    return Tally(
        num_games=is_counted.sum(dtype=jnp.float32),
        resigned=resigned.sum(axis=plies, dtype=jnp.float32),
        won=won.sum(axis=plies, dtype=jnp.float32),
    )


def remember(tally: Tally, new: Tally, config: ResignationConfig) -> Tally:
    """Returns the tally with new games, the earlier ones faded."""
    kept = 0.5 ** (new.num_games / config.half_life)
    return jax.tree.map(lambda old, x: kept * old + x, tally, new)


def threshold(tally: Tally, config: ResignationConfig) -> tuple[jax.Array, jax.Array]:
    """Returns the threshold to resign by, and its share of false positives; both `[]` float32.

    `NEVER` and NaN as long as no threshold is known to be safe.
    """
    share = tally.won / jnp.maximum(tally.resigned, 1e-9)
    is_safe = (share < config.max_false_positives) & (tally.resigned >= config.min_games)
    highest = len(THRESHOLDS) - 1 - jnp.argmax(is_safe[::-1])
    is_any = is_safe.any()
    return (
        jnp.where(is_any, jnp.asarray(THRESHOLDS)[highest], NEVER),
        jnp.where(is_any, share[highest], jnp.nan),
    )
