"""Solved positions of random games, and their squares for the plain Python minimax."""

import functools

import jax
import numpy as np

from azo.lab import position_sets
from support import random_games


@functools.cache
def random_set(game, num_empties=6, num_positions=40):
    key = jax.random.key(3)
    return position_sets.of_random_games(
        game, key, num_positions=num_positions, num_empties=num_empties
    )


def squares(position, size):
    """Returns `[M, n, n]` int8 as `slow_minimax` has it."""
    player, opponent = (
        random_games.to_squares(side, size) for side in (position.player, position.opponent)
    )
    return player.astype(np.int8) - opponent.astype(np.int8)
