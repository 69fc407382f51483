"""Published games of the program OLIVAW, from `tests/data`."""

import pathlib
import re

_FOLDER = pathlib.Path(__file__).parents[2] / "data"


def moves(number):
    """Returns the moves of a game as they are printed, some with their passes."""
    text = (_FOLDER / f"olivaw_game{number:02}.txt").read_text()
    return re.search(r"^moves: (\S+)$", text, re.MULTILINE)[1]
