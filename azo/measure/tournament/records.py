"""Games of a tournament, as they are planned and as they were played.

A record is one line of JSON in a file that only grows, such as

    {"opening": 3, "black": "azo-400", "white": "gtp-rhino-2", "opening_plies": 8,
     "moves": "f5d6c3...", "result": 1, "score": 12, "ended": "",
     "num_moves": [26, 26], "positions": [10400, null], "seconds": [9.1, 4.8]}

with passes in `moves` as "pa", and `result` (1, 0, -1) and `score` (discs, the empties to the
winner; null for other games than Othello) as seen by black, the side that moves first in the game.
`ended` is empty for a game played to its end; else it says why the loser lost it early. The last
three are [black's, white's]: moves chosen where there was a choice, positions searched for them
(null if not known) and seconds taken.
"""

import dataclasses
import json
import pathlib
from collections.abc import Iterable, Sequence

from azo.games import notation
from azo.measure import journal


@dataclasses.dataclass(frozen=True)
class Fixture:
    """A game to be played."""

    opening: int  # number of the opening, from 0
    black: str
    white: str


@dataclasses.dataclass(frozen=True)
class Record:
    """A game that was played."""

    fixture: Fixture
    opening_plies: int
    actions: tuple[int, ...]  # all plies, opening and passes included
    result: int  # 1, 0 or -1, as seen by black
    score: int | None  # discs, the empties to the winner, as seen by black; None outside Othello
    ended: str  # "" if played to its end, else why the loser lost it
    num_moves: tuple[int, int]  # black's and white's, where there was a choice
    positions: tuple[float | None, float | None]  # searched for them; None if not known
    seconds: tuple[float, float]  # taken for them


def to_line(record: Record, size: int) -> str:
    """Returns the line of JSON, with its end; `size` is that of the board."""
    fields = dataclasses.asdict(record)
    actions = fields.pop("actions")
    moves = notation.transcript(actions, size, has_passes=True)
    return json.dumps(fields.pop("fixture") | fields | {"moves": moves}) + "\n"


def of_line(line: str, size: int) -> Record:
    """Returns the record that `to_line` wrote; raises ValueError for anything else."""
    try:
        fields = json.loads(line)
        moves = fields.pop("moves")
        fixture = Fixture(**{f.name: fields.pop(f.name) for f in dataclasses.fields(Fixture)})
        for name in ("num_moves", "positions", "seconds"):
            first, second = fields[name]
            fields[name] = first, second
        pairs = (moves[i : i + 2] for i in range(0, len(moves), 2))
        actions = tuple(notation.parse_action(pair, size) for pair in pairs)
        return Record(fixture=fixture, actions=actions, **fields)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"not the record of a game ({error})") from None


def read(path: pathlib.Path, size: int) -> list[Record]:
    """Returns the records of a file, none if there is no file.

    A last line without an end was cut short by a crash, and is left out.

    Raises:
      ValueError: another line is no record.
    """
    found = []
    for number, line in enumerate(journal.read(path), start=1):
        try:
            found.append(of_line(line, size))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from None
    return found


def append(path: pathlib.Path, record: Record, size: int) -> None:
    """Adds a record to a file, on disk when this returns; a line cut short goes first."""
    journal.append(path, to_line(record, size).removesuffix("\n"))


def missing(fixtures: Sequence[Fixture], records: Iterable[Record]) -> list[Fixture]:
    """Returns the fixtures without a record, in their order."""
    played = {record.fixture for record in records}
    return [fixture for fixture in fixtures if fixture not in played]
