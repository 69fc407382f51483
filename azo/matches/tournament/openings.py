"""Openings of matches: random ones, or those of a file.

An opening is a tuple of actions from the start of the game, forced passes included, that does not
end it. Both players of a pairing play it with both colours.
"""

import pathlib

import jax
import numpy as np

from azo.formats import game_files
from azo.games import notation, othello, plurals, protocol
from azo.learning import pretraining

Opening = tuple[int, ...]

_MAX_DRAWS = 128  # of `count` openings each


def random(
    game: protocol.Game, key: jax.Array, *, count: int, plies: int, is_distinct: bool = False
) -> list[Opening]:
    """Returns openings of uniformly random legal plies, with `is_distinct` all different.

    Raises:
      ValueError: Too few openings leave the game undecided.
    """
    drawn: list[Opening] = []
    for number in range(_MAX_DRAWS if 0 <= plies < game.max_plies else 0):
        draw_key = jax.random.fold_in(key, number)
        actions, result = jax.device_get(pretraining.random_games(game, draw_key, count, plies))
        drawn += map(tuple, actions[np.isnan(result)].tolist())
        drawn = list(dict.fromkeys(drawn)) if is_distinct else drawn
        if len(drawn) >= count:
            return drawn[:count]
    openings = plurals.counted(len(drawn), f"{'different ' * is_distinct}opening")
    raise ValueError(
        f"only {openings} of {plurals.counted(plies, 'random ply', 'random plies')}"
        f" {'leaves' if len(drawn) == 1 else 'leave'} {game.name} undecided, but {count} are"
        " needed: choose another number of opening plies, or fewer games"
    )


def from_file(
    path: pathlib.Path, game: protocol.Game, key: jax.Array, *, count: int
) -> list[Opening]:
    """Returns openings drawn from a file of games, such as the XOT lists with one per line.

    Every line must be an opening: without some of them the draw by the key, and so the match, would
    be another one than its settings say.

    Raises:
      ValueError: The file cannot be read, a line is no opening, too few are different, or the game
        is not Othello.
    """
    if not isinstance(game, othello.Othello):
        raise ValueError(f"{path}: openings from a file are for Othello, not for {game.name}")
    archive = game_files.read_archives([path], game)
    openings: dict[Opening, None] = {}
    num_plies = archive.num_plies.tolist()
    for row in jax.random.permutation(key, len(num_plies)).tolist():
        actions = tuple(archive.action[row, : num_plies[row]].tolist())
        if archive.is_finished[row]:
            text = notation.transcript(actions, game.size)
            raise ValueError(f"{path}: the game is over after the opening {text}")
        openings[actions] = None
        if len(openings) == count:
            return list(openings)
    raise ValueError(
        f"{path}: {plurals.counted(len(openings), 'different opening')}, but {count} are needed:"
        " add lines"
    )
