"""A replay of your own, prioritised by a field that is recorded at each ply.

azo train --config tictactoe --selfplay.options examples.prioritised_replay:Surprise --minutes 2
--replay.sampling examples.prioritised_replay:sample
"""

import jax
import jax.numpy as jnp

from azo.learning import replay
from azo.learning.options import interface


class Surprise(interface.Option):
    """Records how far the search moved the network's value."""

    fields = {"surprise": jax.ShapeDtypeStruct((), jnp.float16)}  # noqa: RUF012

    def field_values(self, turn):
        """Returns the field `[B]` of a ply."""
        return {"surprise": jnp.abs(turn.result.value - turn.result.raw_value)}


def sample(buffer, key, num_examples, window):
    """Draws rows in proportion to 0.1 + surprise, from the window of the settings."""
    weight = jnp.where(replay.in_window(buffer, window), 0.1 + buffer.extras["surprise"], 0.0)
    total = jnp.cumsum(weight.astype(jnp.float32))
    drawn = (1 - jax.random.uniform(key, (num_examples,))) * total[-1]
    return jnp.searchsorted(total, drawn)
