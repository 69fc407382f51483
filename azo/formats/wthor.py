"""WTHOR, the archive of the French federation: reads and writes games.

https://www.ffothello.org/informatique/la-base-wthor/ describes the format. A file of games (.wtb)
has a header of 16 bytes, then 68 bytes a game: tournament and players (three int16), black's final
discs, black's discs under perfect play from a late position, and 60 squares as 10 * row + column,
0 after the last. Passes are not written. Names are in files of their own, `.JOU` for players and
`.TRN` for tournaments: the header, then 20 or 26 bytes a name, the last of them 0. All numbers are
little endian.
"""

import struct
from collections.abc import Iterator, Sequence

from azo.formats import ggf
from azo.games import variant
from azo.storage import files

_HEADER_BYTES = 16
_RECORD_BYTES = 68
_ACTION_OF = {
    10 * row + column: 8 * row + column - 9 for row in range(1, 9) for column in range(1, 9)
}
_PLAYER_BYTES, _TOURNAMENT_BYTES = 20, 26

Date = tuple[int, int, int]  # year, month, day


def parse(content: bytes, names: Sequence[str] = ()) -> Iterator[ggf.GgfGame]:
    """Yields the games of a `.wtb` file as written; `names` are those of the players.

    ValueError if header or a record is cut short, the header announces another board size or number
    of games, or a square or score is impossible.
    """
    if len(content) < _HEADER_BYTES:
        raise ValueError(f"{len(content)} bytes, but a WTHOR header has {_HEADER_BYTES}")
    num_games = int.from_bytes(content[4:8], "little", signed=True)
    size, exact_empties = content[12], content[14]
    if size not in (0, 8):  # 0 means 8 in old files
        raise ValueError(f"games on {size}x{size}, not 8x8")
    num_whole, rest = divmod(len(content) - _HEADER_BYTES, _RECORD_BYTES)
    if rest:
        raise ValueError(f"record {num_whole + 1}: cut short, {rest} of {_RECORD_BYTES} bytes")
    if num_games != num_whole:
        raise ValueError(f"the header says {num_games} games, but {num_whole} follow")
    start = ggf.usual_start(variant.Variant())
    by_number = dict(enumerate(names))
    records = struct.iter_unpack("<3h2B60s", content[_HEADER_BYTES:])
    for number, (_, black, white, discs, exact_discs, squares) in enumerate(records, start=1):
        squares = squares.rstrip(b"\0")
        for move, byte in enumerate(squares, start=1):
            if byte not in _ACTION_OF:
                raise ValueError(f"record {number}: byte {byte} as move {move} is not a square")
        if (most := max(discs, exact_discs)) > 64:
            raise ValueError(f"record {number}: bad score: black has {most} discs")
        yield ggf.GgfGame(
            8,
            start,
            tuple(_ACTION_OF[byte] for byte in squares),
            black=by_number.get(black, ""),
            white=by_number.get(white, ""),
            black_score=2 * discs - 64,
            black_value=float((discs > 32) - (discs < 32)),
            exact_score=2 * exact_discs - 64,
            exact_empties=exact_empties,
        )


def parse_players(content: bytes) -> list[str]:
    """Returns the names of a `.JOU` file; the number of a player is the place in it."""
    names = content[_HEADER_BYTES:]
    rows = (names[start : start + _PLAYER_BYTES] for start in range(0, len(names), _PLAYER_BYTES))
    decoded = (row.partition(b"\0")[0].decode("latin-1") for row in rows)
    return [files.one_line(name, _PLAYER_BYTES) for name in decoded]


def write(games: Sequence[ggf.GgfGame], tournament: str, date: Date) -> dict[str, bytes]:
    """Returns the files `wtb`, `JOU` and `TRN` for games of one tournament.

    The games are on 8x8 from the usual start, and their scores give the empties to the winner.
    Names are cut to 19 and 25 characters, and characters outside of Latin-1 become "?". Players
    whose names are then equal keep different numbers. The score under perfect play is
    written as 0, at depth 0. The date is that of the files and of the games.
    """
    names = list(dict.fromkeys(name for game in games for name in (game.black, game.white)))
    number = {name: index for index, name in enumerate(names)}
    records = b"".join(
        struct.pack(
            "<3h2B60s",
            *(0, number[game.black], number[game.white]),
            *(32 + int(game.black_score or 0) // 2, 0),
            bytes(10 * (a // 8 + 1) + a % 8 + 1 for a in game.moves if a < 64),
        )
        for game in games
    )
    players = b"".join(_name(name, _PLAYER_BYTES) for name in names)
    return {
        "wtb": _header(date, num_games=len(games), year=date[0]) + records,
        "JOU": _header(date, num_names=len(names)) + players,
        "TRN": _header(date, num_names=1) + _name(tournament, _TOURNAMENT_BYTES),
    }


def _header(date: Date, *, num_games: int = 0, num_names: int = 0, year: int = 0) -> bytes:
    year_made, month, day_made = date
    day = struct.pack("4B", *divmod(year_made, 100), month, day_made)
    return day + struct.pack("<ihh4B", num_games, num_names, year, 8, 0, 0, 0)


def _name(name: str, num_bytes: int) -> bytes:
    return name.encode("latin-1", errors="replace")[: num_bytes - 1].ljust(num_bytes, b"\0")
