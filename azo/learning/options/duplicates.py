"""Duplicates: copies of a position learn from the average of their targets."""

import dataclasses
import functools

import jax
import jax.numpy as jnp

from azo.learning import replay, trajectories
from azo.learning.options import interface


class Duplicates(interface.Option):
    """Averages over copies of one actor version, by `targets.average_duplicates`."""

    name = "duplicates"

    def before_learning(self, buffer: replay.ReplayBuffer) -> replay.ReplayBuffer:
        """See `averaged`."""
        return averaged(buffer)


def averaged(buffer: replay.ReplayBuffer) -> replay.ReplayBuffer:
    """Returns the buffer with policies and values of duplicates averaged.

    Copies of a position with the same actor version all get the mean over these copies. Each copy
    keeps its row, so a position keeps the weight of its copies.
    """
    version = buffer.actor_version[:, None].astype(jnp.uint32)
    is_used = jnp.arange(buffer.value.shape[0]) < buffer.size[0]
    group = replay.groups(jnp.concatenate([buffer.board, version, ~is_used[:, None]], axis=1))
    value = buffer.value[:, None].astype(jnp.float32)
    both = jnp.concatenate([trajectories.restore(buffer.policy), value], axis=1)
    total = functools.partial(jax.ops.segment_sum, segment_ids=group, num_segments=len(group))
    means = (total(both) / total(jnp.ones_like(value)))[group]
    return dataclasses.replace(
        buffer,
        policy=jnp.where(is_used[:, None], trajectories.quantise(means[:, :-1]), 0),
        value=means[:, -1].astype(buffer.value.dtype),
    )
