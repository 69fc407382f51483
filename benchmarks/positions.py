"""Positions for measurements: games at chosen plies.

The plies matter to mctx. In a game that is nearly over mctx searches below the end, one node deeper
with each simulation, and the whole batch waits. azo stops at the end of the game.
"""

import random
from collections.abc import Callable
from typing import Annotated, Any

import jax
import numpy as np
import pydantic

from azo.games import othello
from azo.play.live_game import LiveGame

# Games are at plies before this one. None: all plies of a game.
BeforePly = Annotated[int, pydantic.Field(ge=1)] | None


def spread(begin: Callable[[int], Any], num_squares: int, batch: int, before_ply: BeforePly) -> Any:
    """Returns `batch` games at plies 0, 1, ... `before_ply - 1`, then again.

    Args:
      begin: function that returns a number of games, game `i` at ply `i % num_squares`, as a pytree
        of arrays.
      num_squares: squares of the board.
      batch: number of games.
      before_ply: at most `num_squares`; None means `num_squares`.
    """
    plies = min(before_ply or num_squares, num_squares)
    number = -(-batch // plies) * num_squares
    games = begin(number)
    kept = np.flatnonzero(np.arange(number) % num_squares < plies)[:batch]
    return jax.tree.map(lambda x: x[kept], games)


def random_game(game: othello.Othello, rng: random.Random, num_plies: int) -> LiveGame:
    """Returns an unfinished game after `num_plies` random plies."""
    live_game = LiveGame(game)
    while len(live_game.actions) < num_plies:
        live_game.play(rng.choice(live_game.legal_actions))
        if live_game.is_over:
            live_game.new_game()
    return live_game
