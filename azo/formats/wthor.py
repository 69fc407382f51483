"""Writes WTHOR files: games, and the names of players and tournaments that they refer to.

The format is described in `archives`, which reads the games. Names lie in files of their own
(`.JOU` for players, `.TRN` for tournaments): 16 bytes of header, then 20 or 26 bytes a name, the
last of them 0. All numbers are little endian.
"""

import dataclasses
import struct
from collections.abc import Sequence

_SQUARES = 60
_PLAYER_BYTES, _TOURNAMENT_BYTES = 20, 26


@dataclasses.dataclass(frozen=True)
class WthorGame:
    """A game on 8x8 from the usual start."""

    black: str
    white: str
    actions: Sequence[int]  # passes, 64, are left out in the file
    black_discs: int  # at the end, the empties to the winner


@dataclasses.dataclass(frozen=True)
class WthorFiles:
    """The contents of the three files."""

    games: bytes  # .wtb
    players: bytes  # .JOU
    tournaments: bytes  # .TRN


Date = tuple[int, int, int]  # year, month, day


def write(games: Sequence[WthorGame], tournament: str, date: Date) -> WthorFiles:
    """Returns the files for games of one tournament; `date` is that of the files and the games.

    Names are cut to 19 and 25 characters, and what is not in Latin-1 becomes "?". Players whose
    names are then equal stay apart by their numbers. The theoretical score, which nobody worked
    out, is 0 at depth 0.
    """
    names = list(dict.fromkeys(name for game in games for name in (game.black, game.white)))
    number = {name: place for place, name in enumerate(names)}
    records = b"".join(
        struct.pack("<3h2B", 0, number[game.black], number[game.white], game.black_discs, 0)
        + _moves(game.actions)
        for game in games
    )
    return WthorFiles(
        games=_header(date, num_games=len(games), year=date[0]) + records,
        players=_header(date, num_names=len(names))
        + b"".join(_name(name, _PLAYER_BYTES) for name in names),
        tournaments=_header(date, num_names=1) + _name(tournament, _TOURNAMENT_BYTES),
    )


def _header(date: Date, *, num_games: int = 0, num_names: int = 0, year: int = 0) -> bytes:
    year_made, month, day_made = date
    day = struct.pack("4B", *divmod(year_made, 100), month, day_made)
    return day + struct.pack("<ihh4B", num_games, num_names, year, 8, 0, 0, 0)


def _moves(actions: Sequence[int]) -> bytes:
    squares = bytes(10 * (a // 8 + 1) + a % 8 + 1 for a in actions if a < 64)
    return squares.ljust(_SQUARES, b"\0")


def _name(name: str, num_bytes: int) -> bytes:
    return name.encode("latin-1", errors="replace")[: num_bytes - 1].ljust(num_bytes, b"\0")
