"""Games that a run is playing, for those who watch it: `games.json` in its folder."""

import contextlib
import pathlib

import jax
import pydantic

from azo.games import bitboard, notation, othello, protocol
from azo.learning import trajectories
from azo.process import distributed
from azo.settings import setting_types
from azo.storage import files

FILE = "games.json"
NUM_GAMES = 12


class ShownGames(pydantic.BaseModel, frozen=True, strict=True):
    """The content of the file."""

    iteration: setting_types.NonNegativeInt = 0
    boards: tuple[str, ...] = ()


def write(
    folder: pathlib.Path, game: protocol.Game, games: trajectories.GamesInProgress, iteration: int
) -> None:
    """Writes the positions of the first games after an iteration, of Othello, in one process.

    The colours of games that begin at a position of an earlier game may be exchanged, since their
    plies are counted from there.
    """
    if not isinstance(game, othello.Othello):
        return
    position, plies = jax.tree.map(
        lambda x: distributed.first_rows(x, NUM_GAMES), (games.position, games.ply)
    )
    sides = map(bitboard.to_ints, (position.player, position.opponent))
    boards = []
    for *discs, ply in zip(*sides, plies, strict=True):
        is_black = bool(ply % 2 == 0)
        black, white = discs if is_black else discs[::-1]
        board = notation.Board(black, white, is_black)
        boards.append(notation.board_text(board, game.size))
    games_shown = ShownGames(iteration=iteration, boards=tuple(boards))
    with contextlib.suppress(ValueError):  # a full disk does not end a run
        files.write(folder / FILE, games_shown.model_dump_json().encode(), inside=folder)


def read(folder: pathlib.Path) -> ShownGames:
    """Returns what `write` wrote last, or no boards if it has written nothing yet."""
    try:
        return ShownGames.model_validate_json(files.read(folder / FILE))
    except ValueError:
        return ShownGames()
