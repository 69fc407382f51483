"""Games of a tournament, as scheduled and as played, and the file that keeps them.

The file has one line of JSON for each finished game, such as

    {"opening": 3, "black": "azo-400", "white": "gtp-rhino-2", "opening_plies": 8,
     "moves": "f5d6c3...", "result": 1, "score": 12, "ended": "",
     "num_moves": [26, 26], "positions": [10400, null], "seconds": [9.1, 4.8]}

`moves` writes a pass as "pa". `result` (1, 0, -1) and `score` (discs, the empties to the winner)
are black's.
"""

import dataclasses
import json
import pathlib
from collections.abc import Iterable, Sequence

from azo.games import notation
from azo.measure import journal


@dataclasses.dataclass(frozen=True)
class ScheduledGame:
    """A game to be played."""

    opening: int  # number of the opening, from 0
    black: str
    white: str


@dataclasses.dataclass(frozen=True)
class PlayedGame(ScheduledGame):
    """A finished game. Pairs are black's and white's."""

    opening_plies: int
    actions: tuple[int, ...]  # all plies, opening and passes included
    result: int  # 1, 0 or -1 for black
    score: int | None  # for black, empties to the winner; None for a forfeit and outside Othello
    ended: str  # why the loser forfeited the game; "" if it was played to the end
    num_moves: tuple[int, int]  # moves with a choice
    positions: tuple[float | None, float | None]  # positions searched; None if unknown
    seconds: tuple[float, float]  # time for these moves

    @property
    def scheduled(self) -> ScheduledGame:
        """The game as it was scheduled."""
        return ScheduledGame(self.opening, self.black, self.white)


def to_line(game: PlayedGame, size: int) -> str:
    """Returns the game as a line of JSON without its end; `size` is that of the board."""
    fields = dataclasses.asdict(game)
    moves = notation.transcript(fields.pop("actions"), size, has_passes=True)
    return json.dumps(fields | {"moves": moves})


def from_line(line: str, size: int) -> PlayedGame:
    """Returns the game that `to_line` wrote; raises ValueError for other text."""
    try:
        fields = json.loads(line)
        moves = fields.pop("moves")
        for name in ("num_moves", "positions", "seconds"):
            black, white = fields[name]
            fields[name] = black, white
        return PlayedGame(actions=tuple(notation.parse_moves(moves, size)), **fields)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"not the record of a game ({error})") from None


def read(path: pathlib.Path, size: int) -> list[PlayedGame]:
    """Returns the games of a file without damaged lines; see `journal.read`."""
    return journal.read(path, lambda line: from_line(line, size))


def mend(path: pathlib.Path, size: int) -> list[PlayedGame]:
    """Returns the games of a file and moves damaged lines out of it; see `journal.mend`."""
    return journal.mend(path, lambda line: from_line(line, size))


def missing(schedule: Sequence[ScheduledGame], played: Iterable[PlayedGame]) -> list[ScheduledGame]:
    """Returns the scheduled games that were not played, in their order."""
    finished = {game.scheduled for game in played}
    return [game for game in schedule if game not in finished]
