"""WTHOR, the archive of the French federation: a reader of games.

https://www.ffothello.org/informatique/la-base-wthor/ describes the format. A file of games (.wtb)
has a header of 16 bytes, then 68 bytes per game: tournament and players (three int16), black's
final discs, black's discs under perfect play from a late position, and 60 squares as 10 * row +
column, 0 after the last. Passes are not written. Names are in separate files, `.JOU` for players
and `.TRN` for tournaments: the header, then 20 or 26 bytes per name, the last of them 0. All
numbers are little endian.
"""

import struct
from collections.abc import Iterator, Sequence

from azo.formats import ggf
from azo.games import plurals, variant
from azo.storage import files

_HEADER_BYTES = 16
_RECORD_BYTES = 68
_ACTION_OF = {
    10 * row + column: 8 * row + column - 9 for row in range(1, 9) for column in range(1, 9)
}
_PLAYER_BYTES = 20


def parse(content: bytes, names: Sequence[str] = ()) -> Iterator[ggf.Record]:
    """Yields the games of a `.wtb` file as written; `names` are those of the players.

    A record with an impossible square or score, a last one that is cut short, and games that the
    header announces but that are missing are `UnreadableGame`. ValueError if the header is cut
    short or announces another board size.
    """
    if len(content) < _HEADER_BYTES:
        raise ValueError(
            f"{plurals.counted(len(content), 'byte')}, but a WTHOR header has {_HEADER_BYTES}"
        )
    num_games = int.from_bytes(content[4:8], "little", signed=True)
    size, exact_empties = content[12], content[14]
    if size not in (0, 8):  # 0 means 8 in old files
        raise ValueError(f"games on {size}x{size}, not 8x8")
    num_whole, rest = divmod(len(content) - _HEADER_BYTES, _RECORD_BYTES)
    start = ggf.usual_start(variant.Variant())
    by_number = dict(enumerate(names))
    whole = content[_HEADER_BYTES : _HEADER_BYTES + num_whole * _RECORD_BYTES]
    for _, black, white, discs, exact_discs, squares in struct.iter_unpack("<3h2B60s", whole):
        squares = squares.rstrip(b"\0")
        if fault := _fault(squares, max(discs, exact_discs)):
            yield ggf.UnreadableGame(fault)
            continue
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
    if rest:
        yield ggf.UnreadableGame(f"cut short, {rest} of {_RECORD_BYTES} bytes")
    elif num_games != num_whole:
        games = plurals.counted(num_games, "game")
        follow = "follows" if num_whole == 1 else "follow"
        yield ggf.UnreadableGame(f"the header says {games}, but {num_whole} {follow}")


def _fault(squares: bytes, most_discs: int) -> str:
    """Returns what is impossible in a record, "" if nothing is."""
    for move, byte in enumerate(squares, start=1):
        if byte not in _ACTION_OF:
            return f"byte {byte} as move {move} is not a square"
    return f"bad score: black has {most_discs} discs" if most_discs > 64 else ""


def parse_players(content: bytes) -> list[str]:
    """Returns the names of a `.JOU` file; the number of a player is the place in it."""
    names = content[_HEADER_BYTES:]
    rows = (names[start : start + _PLAYER_BYTES] for start in range(0, len(names), _PLAYER_BYTES))
    decoded = (row.partition(b"\0")[0].decode("latin-1") for row in rows)
    return [files.one_line(name, _PLAYER_BYTES) for name in decoded]
