"""Resignation: hopeless games end early. Games played out to their end measure the threshold.

A player resigns when the search's value falls below a threshold. A share of the games is always
played out. For each threshold of a grid, these games show which player would have resigned first,
and whether that player won. The threshold in use is the highest with a share of false positives
below `max_false_positives` (Silver et al., 2017, https://doi.org/10.1038/nature24270).
"""

import dataclasses
from typing import Annotated, ClassVar

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import pydantic

from azo.games import protocol
from azo.learning import trajectories
from azo.learning.options import interface
from azo.settings import setting_types

# Possible thresholds, ascending.
THRESHOLDS = -np.arange(99, 0, -1, dtype=np.float32) / 100
NEVER = -2.0  # below every value
_MIN_GAMES = 50  # played-out games that a threshold must end early before it is used
_HALF_LIFE = 2000.0  # newer played-out games that halve the weight of a game


class ResignationConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Resignation of hopeless games."""

    is_enabled: bool = setting_types.never(False)
    """Resign games that are hopeless for the side to move."""
    played_out_share: Annotated[float, pydantic.Field(gt=0, le=1)] = setting_types.in_schedule(0.1)
    """Share of games that are always played to the end, to measure false positives."""
    max_false_positives: Annotated[float, pydantic.Field(gt=0, lt=1)] = setting_types.in_schedule(
        0.05
    )
    """Upper bound on the share of resigned games that the resigning side would have won."""

    NEEDS: ClassVar[setting_types.Table] = {
        "played_out_share": (setting_types.needs("is_enabled", True),),
        "max_false_positives": (
            setting_types.needs("is_enabled", True),
            setting_types.needs_other("played_out_share", 1),
        ),
    }


@flax.struct.dataclass
class ResignationState:
    """Resignation in games in progress, for `K` thresholds."""

    is_played_out: jax.Array  # [B] bool, nobody resigns
    resigned_by: jax.Array  # [B, K] int8, player whose value fell below first: 1 for the player
    # who began, -1 for the other, 0 for none


@flax.struct.dataclass
class ResignationCounts:
    """Weighted counts of played-out games for each threshold."""

    num_games: jax.Array  # [] float32
    resigned: jax.Array  # [K] float32, games that a player would have resigned
    won: jax.Array  # [K] float32, resigned games won by this player: false positives


class Resignation(interface.Option):
    """Lets players resign; its state of the run are the counts."""

    name = "resignation"

    def begin_run(self) -> ResignationCounts:
        """Returns counts of no games."""
        return init_counts()

    def begin_games(self, key: jax.Array, num_games: int) -> ResignationState:
        """See `init_state`."""
        return init_state(key, num_games, self.config.resignation)

    def after_step(
        self, turn: interface.Turn, part: ResignationState, state: ResignationCounts
    ) -> tuple[interface.Turn, ResignationState, ResignationState]:
        """Ends games with a loss of the player who resigns; records the state after each ply."""
        limit, _ = threshold(state, self.config.resignation)
        resigns, part = apply(part, turn.result.value, turn.games.ply, limit)
        turn = dataclasses.replace(
            turn,
            score=jnp.where(resigns, trajectories.UNKNOWN_SCORE, turn.score),
            reward=jnp.where(resigns, -1.0, turn.reward),
            discount=jnp.where(resigns, 0.0, turn.discount),
        )
        return turn, part, part

    def next_state(
        self,
        state: ResignationCounts,
        trajectory: trajectories.Trajectory,
        record: ResignationState,
        total: interface.Total,
    ) -> ResignationCounts:
        """Counts the games that were played out."""
        new = count(record, trajectory.ply, trajectory.reward, trajectory.discount)
        return update_counts(state, total(new))

    def metrics(self, state: ResignationCounts) -> dict[str, jax.Array]:
        """Returns the threshold in use, and its share of false positives."""
        limit, share = threshold(state, self.config.resignation)
        return {"resignation/threshold": limit, "resignation/false_positive_share": share}


def init_state(key: jax.Array, num_games: int, config: ResignationConfig) -> ResignationState:
    """Returns the state of new games, and draws the games that are played out."""
    return ResignationState(
        is_played_out=jax.random.uniform(key, (num_games,)) < config.played_out_share,
        resigned_by=jnp.zeros((num_games, len(THRESHOLDS)), jnp.int8),
    )


def init_counts() -> ResignationCounts:
    """Returns counts of no games."""
    return ResignationCounts(jnp.float32(0), *jnp.zeros((2, len(THRESHOLDS)), jnp.float32))


def apply(
    state: ResignationState, value: jax.Array, ply: jax.Array, threshold: jax.Array
) -> tuple[jax.Array, ResignationState]:
    """Returns the players who resign, `[B]` bool, and the state after the ply.

    `value` is the search's for the player to move, `[B]` float32, after `ply` `[B]` int32 plies.
    """
    mover = jnp.where(ply % 2 == 0, 1, -1).astype(jnp.int8)
    is_below = value[:, None] < jnp.asarray(THRESHOLDS)[None]
    first = jnp.where((state.resigned_by == 0) & is_below, mover[:, None], state.resigned_by)
    resigns = ~state.is_played_out & (value < threshold)
    return resigns, ResignationState(state.is_played_out, first)


def count(
    state: ResignationState, ply: jax.Array, reward: jax.Array, discount: jax.Array
) -> ResignationCounts:
    """Returns the counts of the games that end with these plies `[..., B]`.

    `state` is that after each ply; the others are those of `trajectories.Trajectory`.
    """
    is_counted = state.is_played_out & (discount == 0)
    result = jnp.sign(jnp.where(ply % 2 == 0, reward, -reward))  # of the player who began
    resigned = is_counted[..., None] & (state.resigned_by != 0)
    won = resigned & (state.resigned_by == result[..., None])
    plies = tuple(range(is_counted.ndim))
    return ResignationCounts(
        num_games=is_counted.sum(dtype=jnp.float32),
        resigned=resigned.sum(axis=plies, dtype=jnp.float32),
        won=won.sum(axis=plies, dtype=jnp.float32),
    )


def update_counts(counts: ResignationCounts, new: ResignationCounts) -> ResignationCounts:
    """Returns the counts with new games added and the weight of earlier games reduced."""
    weight = 0.5 ** (new.num_games / _HALF_LIFE)
    return jax.tree.map(lambda old, x: weight * old + x, counts, new)


def threshold(counts: ResignationCounts, config: ResignationConfig) -> tuple[jax.Array, jax.Array]:
    """Returns the threshold in use and its share of false positives, both `[]` float32.

    They are `NEVER` and NaN if no threshold has proved safe.
    """
    share = counts.won / jnp.maximum(counts.resigned, 1e-9)
    is_safe = (share < config.max_false_positives) & (counts.resigned >= _MIN_GAMES)
    highest = len(THRESHOLDS) - 1 - jnp.argmax(is_safe[::-1])
    chosen = jnp.asarray(THRESHOLDS)[highest], share[highest]
    return protocol.where(is_safe.any(), chosen, (NEVER, jnp.nan))
