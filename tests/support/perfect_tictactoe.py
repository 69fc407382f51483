"""Perfect play of tic-tac-toe, by a plain minimax."""

import functools

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

_LINES = (0o700, 0o070, 0o007, 0o444, 0o222, 0o111, 0o421, 0o124)


@functools.cache
def value(player, opponent):
    """Exact value for the side to move; a line can only be the opponent's."""
    if any(opponent & line == line for line in _LINES):
        return -1
    free = [1 << square for square in range(9) if not (player | opponent) >> square & 1]
    return max((-value(opponent, player | mark) for mark in free), default=0)


def best_moves():
    """`[512, 512, 9]` bool: whether a move keeps the value of a position, by both sides' marks."""
    value(0, 0)
    table = np.zeros((512, 512, 9), bool)
    todo, seen = [(0, 0)], {(0, 0)}
    while todo:
        player, opponent = todo.pop()
        free = [square for square in range(9) if not (player | opponent) >> square & 1]
        for square in free:
            child = opponent, player | 1 << square
            if any(child[1] & line == line for line in _LINES):
                table[player, opponent, square] = True
                continue
            table[player, opponent, square] = -value(*child) == value(player, opponent)
            if child not in seen:
                seen.add(child)
                todo.append(child)
    return table


@flax.struct.dataclass
class PerfectPlayer:
    """Chooses at random among the moves that keep a position's value."""

    is_best: jax.Array  # [512, 512, 9] bool

    def __call__(self, key, position, ply):
        del ply
        is_best = self.is_best[position.player, position.opponent]
        return jax.random.categorical(key, jnp.where(is_best, 0.0, -jnp.inf))
