"""Adjudication: games of Othello end with the exact result once few squares are empty.

The rest of such a game becomes a line of best moves whose positions are examples too.
"""

import dataclasses
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp

from azo.games import othello, protocol
from azo.learning import replay, trajectories
from azo.learning.options import endings, interface
from azo.search import search_tree


@flax.struct.dataclass
class Adjudicated:
    """Games that are adjudicated after a ply."""

    is_adjudicated: jax.Array  # [T, B] bool
    after: othello.Position  # [T, B], after the ply, seen by the side that moves next


class Adjudication(interface.Option):
    """Ends games at `endings.adjudicate_empties` empty squares."""

    name = "adjudication"

    def is_end(self, position: protocol.Position) -> jax.Array:
        """See `interface.Option`."""
        assert isinstance(self.game, othello.Othello), self.game.name
        return self.game.num_empties(position) <= self.config.endings.adjudicate_empties

    def after_step(
        self, turn: interface.Turn, part: Any, state: Any
    ) -> tuple[interface.Turn, Any, Adjudicated]:
        """Ends games; their result is not known before all plies are played."""
        del state
        is_adjudicated = (turn.discount != 0) & self.is_end(turn.after)
        discount = jnp.where(is_adjudicated, 0.0, turn.discount)
        record = Adjudicated(is_adjudicated, turn.after)
        return dataclasses.replace(turn, discount=discount), part, record

    def after_play(
        self, key: jax.Array, trajectory: trajectories.Trajectory, record: Adjudicated
    ) -> tuple[trajectories.Trajectory, endings.ExactLines]:
        """Solves the endings of all plies at once; the record becomes their lines, `[K, T * B]`."""
        game, config = self.game, self.config
        assert isinstance(game, othello.Othello), game.name
        is_adjudicated = record.is_adjudicated
        position, is_requested = jax.tree.map(jnp.ravel, (record.after, is_adjudicated))
        max_empties = config.endings.adjudicate_empties
        lines = endings.solve(game, key, position, is_requested, max_empties=max_empties)
        end = game.unpack(lines.end.reshape(trajectory.board.shape))
        score = -game.final_score(end)
        reward = search_tree.value_of_score(game, score, config.search.score_share)
        trajectory = dataclasses.replace(
            trajectory,
            score=jnp.where(is_adjudicated, score.astype(jnp.int8), trajectory.score),
            reward=jnp.where(is_adjudicated, reward, trajectory.reward),
        )
        return trajectory, lines

    def rows(
        self, trajectory: trajectories.Trajectory, record: endings.ExactLines
    ) -> replay.NewRows:
        """Returns the positions of the lines."""
        origin = trajectory.iteration[0, 0], trajectory.actor_version[0, 0]
        score_share = self.config.search.score_share
        return endings.exact_rows(self.game, record, *origin, score_share=score_share)
