"""Games of a tournament, as scheduled and as played, the file that keeps them, and their results.

The file has one line of JSON for each finished game, such as

    {"opening": 3, "black": "azo-400", "white": "gtp-rhino-2", "opening_plies": 8,
     "moves": "f5d6c3...", "result": 1, "score": 12, "ended": "",
     "num_moves": [26, 26], "positions": [10400, null], "seconds": [9.1, 4.8]}

`moves` writes a pass as "pa". `result` (1, 0, -1) and `score` (discs, the empties to the winner)
are black's.
"""

import collections
import dataclasses
import itertools
import json
import pathlib
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import pydantic

from azo.games import notation
from azo.matches import elo
from azo.settings.setting_types import NonNegativeFloat, NonNegativeInt
from azo.storage import journal


@dataclasses.dataclass(frozen=True)
class ScheduledGame:
    """A game to be played."""

    opening: NonNegativeInt  # number of the opening, from 0
    black: str
    white: str


@dataclasses.dataclass(frozen=True)
class PlayedGame(ScheduledGame):
    """A finished game. Pairs are black's and white's."""

    __pydantic_config__ = pydantic.ConfigDict(extra="forbid")

    opening_plies: NonNegativeInt
    actions: tuple[int, ...]  # all plies, opening and passes included
    result: Annotated[int, pydantic.Field(ge=-1, le=1)]  # for black
    # For black, the empties to the winner; None for a forfeit and outside Othello.
    score: Annotated[int, pydantic.Field(ge=-64, le=64)] | None
    ended: str  # why the loser forfeited the game; "" if it was played to the end
    num_moves: tuple[NonNegativeInt, NonNegativeInt]  # moves with a choice
    # Positions searched; None if unknown.
    positions: tuple[NonNegativeFloat | None, NonNegativeFloat | None]
    seconds: tuple[NonNegativeFloat, NonNegativeFloat]  # time for these moves

    @property
    def scheduled(self) -> ScheduledGame:
        """The game as it was scheduled."""
        return ScheduledGame(self.opening, self.black, self.white)


_GAME = pydantic.TypeAdapter(PlayedGame)
_FIELDS = pydantic.TypeAdapter(dict[str, Any])


def to_line(game: PlayedGame, size: int) -> str:
    """Returns the game as a line of JSON without its end; `size` is that of the board."""
    fields = dataclasses.asdict(game)
    moves = notation.transcript(fields.pop("actions"), size, has_passes=True)
    return json.dumps(fields | {"moves": moves})


def from_line(line: bytes | str, size: int) -> PlayedGame:
    """Returns the game that `to_line` wrote; raises ValueError for other text."""
    fields = _FIELDS.validate_json(line)
    actions = notation.parse_moves(str(fields.pop("moves", None)), size)
    return _GAME.validate_json(json.dumps(fields | {"actions": actions}), strict=True)


def repair(path: pathlib.Path, size: int) -> list[PlayedGame]:
    """Returns the games of a file and moves damaged lines out of it; see `journal.repair`."""
    return journal.repair(path, lambda line: from_line(line, size))


def pairings(names: Sequence[str], games: Iterable[PlayedGame]) -> list[elo.Pairing]:
    """Returns the results of all pairs of players that met, in the order of the names."""
    # By places of the names and by opening: points of the first player in one game or two.
    points: dict[tuple[int, int], dict[int, list[float]]] = collections.defaultdict(
        lambda: collections.defaultdict(list)
    )
    for game in games:
        black, white = names.index(game.black), names.index(game.white)
        result = game.result if black < white else -game.result
        points[min(black, white), max(black, white)][game.opening].append((1 + result) / 2)
    results = []
    for pair in sorted(points):
        single = list(itertools.chain(*points[pair].values()))
        paired = [sum(opening) for opening in points[pair].values() if len(opening) == 2]
        first, second = (names[place] for place in pair)
        pair_scores = tuple(paired.count(halves / 2) for halves in range(5))
        wins, draws, losses = (single.count(point) for point in (1.0, 0.5, 0.0))
        match = elo.MatchResult(wins, draws, losses, pair_scores)
        results.append(elo.Pairing(first, second, match))
    return results
