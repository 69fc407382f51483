"""Games lost by a wipe-out: the last move leaves the side that is to move without a disc.

The first network for 8x8 lost them, with 16 or 32 simulations a move without proofs, against
greedy and random play from openings of eight random plies.
"""

import pathlib

from azo.games import notation, othello
from azo.games.host import live_game

_FILE = pathlib.Path(__file__).with_name("wipe_outs.txt")
GAME = othello.Othello(8)


def before_the_end(num_plies: int) -> list[tuple[notation.Board, tuple[int, ...]]]:
    """Returns each game's position `num_plies` before its end, and the moves that followed."""
    positions = []
    for line in _FILE.read_text().split():
        game = live_game.LiveGame(GAME)
        actions = live_game.replay(line, GAME).actions
        for action in actions[:-num_plies]:
            game.play(action)
        positions.append((game.board, tuple(actions[-num_plies:])))
    return positions
