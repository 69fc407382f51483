"""A value target of your own: n-step returns, which bootstrap from the search's value.

azo train --config tictactoe --targets.value examples.n_step:value --minutes 2
"""

import jax.numpy as jnp

NUM_PLIES = 4


def value(trajectory):
    """Returns the result if the game ends within so many plies, else the search's value then.

    All are `[T, B]` float32, for the player to move at ply t. The discount is -1, as the next value
    is the opponent's, and 0 on the last ply of a game. Only plies of ended games are learned from.
    """
    target = trajectory.search_value.astype(jnp.float32)
    for _ in range(NUM_PLIES):
        later = jnp.roll(target, -1, axis=0)  # of ply t + 1
        target = trajectory.reward + trajectory.discount * later
    return target
