"""The memory that search trees need."""

import jax

from azo.games import protocol
from azo.process import memory


def num_bytes(game: protocol.Game, num_games: int, num_simulations: int) -> int:
    """Returns the bytes of search trees side by side, see `search_tree.Tree`."""
    node = memory.num_bytes(jax.eval_shape(game.start)) + 20 + 8 * game.num_slots
    return num_games * (num_simulations + 1) * node
