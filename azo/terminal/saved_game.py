"""The unfinished game of a terminal, on disk until it ends.

Each process has its own file, so that two terminals do not overwrite each other's games.
"""

import itertools
import pathlib
import re
from typing import Literal

from azo.engine import engine_settings
from azo.formats import ggf
from azo.games import variant
from azo.storage import files, locks

Sides = Literal["black", "white", "both", "none"]  # those of the person

_PERSON = "you"


class SavedGame:
    """A GGF file with the unfinished game of one process, absent without such a game."""

    def __init__(self, folder: pathlib.Path, rules: variant.Variant):
        """Takes a file of the folder, one with a game if another process does not have it.

        Raises:
          ValueError: one line: the folder cannot be written.
        """
        self._last: ggf.GgfGame | None = None  # that was written
        kept = sorted(folder.glob(f"{rules.name}.*.ggf"))
        new = (folder / f"{rules.name}.{number}.ggf" for number in itertools.count(1))
        for path in itertools.chain(kept, new):
            try:
                self.lock = locks.lock_file(path)
            except locks.InUse:
                continue
            self._path = path
            files.remove_leftovers(folder, path.name)
            return

    def read(self) -> ggf.GgfGame | None:
        """Returns the game, if there is one; raises ValueError if the file is damaged."""
        if not self._path.exists():
            return None
        text = files.read_text(self._path)
        with files.located(self._path):
            game = ggf.parse(text)
            if game.unread:
                raise ValueError(game.unread)
            return game

    def set_aside(self) -> pathlib.Path:
        """Renames a damaged file, which the next game would replace; returns its new path."""
        return files.set_aside(self._path)

    def write(self, game: ggf.GgfGame | None) -> None:
        """Keeps a game in place of the last one, None for no game.

        A game of an earlier process stays until the first one is written.

        Raises:
          ValueError: one line: the file cannot be written.
        """
        if game == self._last:
            return
        if game is None:
            self._path.unlink(missing_ok=True)
        else:
            files.write(self._path, f"{ggf.to_text(game)}\n".encode(), inside=self._path.parent)
        self._last = game


def names(sides: Sides, level: int | str) -> tuple[str, str]:
    """Returns the names of black and white for a person's sides and the level of azo."""
    azo = f"azo, level {engine_settings.level_name(level)}"
    black, white = (_PERSON if sides in (side, "both") else azo for side in ("black", "white"))
    return black, white


def players(game: ggf.GgfGame) -> tuple[Sides, str]:
    """Returns the person's sides and the level of azo, "" without azo, from the names."""
    level = re.search(r"level (\d+|human:\d+)", f"{game.black} {game.white}")
    sides: tuple[Sides, ...] = ("none", "white", "black", "both")
    number = 2 * (game.black == _PERSON) + (game.white == _PERSON)
    return sides[number], level[1] if level else ""
