"""Unplayed positions: examples from positions that were searched but not played."""

from typing import Any

import jax.numpy as jnp

from azo.learning import replay, trajectories
from azo.learning.options import interface
from azo.search import explored


class UnplayedPositions(interface.Option):
    """Learns from the most visited positions, `selfplay.explored_share` for each played one."""

    name = "unplayed"

    def after_step(
        self, turn: interface.Turn, part: Any, state: Any
    ) -> tuple[interface.Turn, Any, explored.ExploredPositions | None]:
        """Records the positions of all trees, `[M]`; None if few games round to no position."""
        del state
        result, num_games = turn.result, turn.games.ply.shape[0]
        num_positions = round(self.config.selfplay.explored_share * num_games)
        if not num_positions:
            return turn, part, None
        record = explored.most_visited(self.game, result.tree, result.action, num_positions)
        return turn, part, record

    def rows(
        self, trajectory: trajectories.Trajectory, record: explored.ExploredPositions | None
    ) -> replay.NewRows | None:
        """Returns the positions, with the search's values."""
        if record is None:
            return None
        return replay.NewRows(
            is_valid=record.is_valid,
            board=record.board,
            policy=trajectories.quantise(record.policy),
            value=record.value,
            score=jnp.int8(trajectories.UNKNOWN_SCORE),
            iteration=trajectory.iteration[0, 0],
            actor_version=trajectory.actor_version[0, 0],
        )
