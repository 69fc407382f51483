"""Solved positions of random games."""

import functools

import jax

from azo.lab import position_sets


@functools.cache
def random_set(game):
    return position_sets.of_random_games(game, jax.random.key(3), num_positions=40, num_empties=6)
