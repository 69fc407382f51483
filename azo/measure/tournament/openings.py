"""Openings of a tournament: random ones, or those of a file.

An opening is a tuple of actions from the start of the game, forced passes included, that does not
end it. Every pair of players plays the same openings, each with both colours.
"""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np

from azo.formats import archives, files
from azo.games import notation, othello, protocol
from azo.measure import arena

Opening = tuple[int, ...]

_draw = jax.jit(arena.draw_openings, static_argnums=(0, 2, 3))


def at_random(game: protocol.Game, key: jax.Array, *, count: int, plies: int) -> list[Opening]:
    """Returns different openings of uniformly random legal plies.

    Raises:
      ValueError: Too few openings do not end the game.
    """
    openings: dict[Opening, None] = {}
    for draw in range(8):
        drawn = _draw(game, jax.random.fold_in(key, draw), count, plies)
        actions = np.asarray(drawn.actions).T[np.asarray(drawn.is_open)]
        openings |= dict.fromkeys(tuple(row) for row in actions.tolist())
        if len(openings) >= count:
            return list(openings)[:count]
    raise ValueError(
        f"{game.name} gave only {len(openings)} different openings of {plies} random plies, but"
        f" {count} are needed: choose more plies, or fewer games"
    )


def from_file(
    path: pathlib.Path, game: othello.Othello, key: jax.Array, *, count: int
) -> list[Opening]:
    """Returns openings drawn from a file with one transcript a line, such as the XOT lists.

    Raises:
      ValueError: The file cannot be read, a line is no opening, or too few are different.
    """
    archive = archives.read_transcripts(files.read_text(path), str(path), game)
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
        f"{path}: {len(openings)} different openings, but {count} are needed: add lines"
    )


def positions_after(game: protocol.Game, openings: list[Opening]) -> arena.Openings:
    """Returns the positions to start the games of a match from.

    Raises:
      ValueError: The openings have different numbers of plies.
    """
    lengths = sorted(set(map(len, openings)))
    if len(lengths) > 1:
        raise ValueError(
            f"openings of {lengths[0]} to {lengths[-1]} plies: a match needs openings of one length"
        )
    actions = jnp.array(openings, jnp.int32).T
    position, _ = jax.lax.scan(
        lambda position, action: (game.step(position, action).position, None),
        game.start(len(openings)),
        actions,
    )
    return arena.Openings(position, actions, ~game.is_over(position))
