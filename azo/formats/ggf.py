r"""Games as text in the Generic Game Format of GGS, which the NBoard protocol sends to engines.

A game is one text of properties, `(;GM[Othello]PB[name]PW[name]RE[+4]TY[8]BO[8 ... *]B[F5]W[D6];)`:

* `PB` and `PW` name the players, `RE` is the result for black in discs.
* `BO` has the size, the squares of the start position row by row, and the side to move (`*` black).
  Without it the start is the usual one.
* `B` and `W` are moves, passes included (`PA`). The engine's evaluation and the seconds may follow,
  `F5/1.20/3.5`; they are skipped, as are properties that `GgfGame` lacks. Of a property that occurs
  twice the first one counts.

https://www.skatgame.net/mburo/ggsa/ggf describes the format. Moves are not played here, so they may
be illegal; `move_lists.replay` checks them.
"""

import dataclasses
import re
from collections.abc import Iterator, Sequence

from azo.games import notation, variant
from azo.storage import files

MAX_NAME = 100  # characters of a player's name; control characters are replaced

START = re.compile(r"\(\s*;")  # of a game
_TOKEN = re.compile(r"([();])|([A-Za-z]+)|\[([^\]]*+)(?:\]|$)")
_SGF_TOKEN = re.compile(r"([();])|([A-Za-z]+)|\[((?:\\.|[^\]\\])*+)(?:\]|\\?$)", re.DOTALL)
_GAME_NAME = re.compile(r"\bGa?Me?\s*\[\s*(\w*)", re.IGNORECASE)
_GGF_BOARD = re.compile(r"\bBO\s*\[")
_TYPE = re.compile(r"[a-z]*(\d+)([a-z]*)(?:r\d+)?([a-z]*)", re.IGNORECASE)
_GAMES = ("othello", "reversi")
# Property names in full, as old versions of SGF allow them; else small letters are left out.
_FULL_NAMES = {
    "black": "B", "white": "W", "game": "GM", "size": "SZ", "playerblack": "PB",
    "playerwhite": "PW", "addblack": "AB", "addwhite": "AW", "addempty": "AE", "player": "PL",
    "charset": "CA", "fileformat": "FF", "board": "BO", "type": "TY", "time": "TI",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class GgfGame:
    """One game as written in any format, or the beginning of one."""

    size: int
    board: notation.Board  # the start position
    moves: tuple[int, ...] = ()  # actions since then; some formats leave passes out
    black: str = ""  # name of the player
    white: str = ""
    black_score: float | None = None  # black's discs minus white's at the end; None if unknown
    is_reversed: bool = False  # fewer discs win
    time: str = ""  # the clocks, such as "15:00"
    # Of other formats:
    unread: str = ""  # why the moves end here although the text goes on
    note: str = ""  # what else the text says of the game, in one line
    black_value: float | None = None  # result for black, 1, 0 or -1; None if unknown
    exact_score: int = 0  # black's under perfect play from `exact_empties` empty squares on
    exact_empties: int = 0  # 0: unknown


@dataclasses.dataclass(frozen=True)
class UnreadableGame:
    """The place of a game that azo cannot read, among the others of a text."""

    reason: str


Record = GgfGame | UnreadableGame


def usual_start(game: variant.Variant) -> notation.Board:
    """Returns the start position of the rules."""
    return notation.Board(*game.start_discs, is_black_to_move=True)


def parse(text: str) -> GgfGame:
    """Returns the game of a GGF text, from `(;` to `)`; ValueError otherwise, see `game_of`."""
    body = text.strip()
    if not (START.match(body) and body.endswith(")")):
        raise ValueError(f"GGF: text is {files.one_line(body, 40)!r}, but should be (; ... ;)")
    return game_of(next(properties(body)))


def game_of(pairs: Sequence[tuple[str, str]]) -> GgfGame:
    """Returns the game of the `properties` of GGF.

    ValueError for another game than Othello, a bad start position, or a komi game. `unread` says
    which move cannot be read.
    """
    values: dict[str, str] = {}
    moves = []
    for name, value in pairs:
        if name in ("B", "W"):
            moves.append((name, value))
        elif name in ("KB", "KW"):
            raise ValueError(f"GGF: {name}[{value}] is a move of a komi game: not supported")
        else:
            values.setdefault(name, value.strip())
    if not values.get("GM", "othello").lower().startswith(_GAMES):
        raise ValueError(f"GGF: the game is {files.one_line(values['GM'], 40)!r}, not 'Othello'")
    kind = _TYPE.fullmatch(values.get("TY", ""))
    is_reversed = kind is not None and "a" in f"{kind[2]}{kind[3]}".lower()  # "anti"
    size, board = _parse_board(values.get("BO", ""), kind[1] if kind else "8", is_reversed)
    actions, unread = _parse_moves(moves, size, board)
    return GgfGame(
        size=size,
        board=board,
        moves=actions,
        black=files.one_line(values.get("PB", ""), MAX_NAME),
        white=files.one_line(values.get("PW", ""), MAX_NAME),
        is_reversed=is_reversed,
        time=files.one_line(values.get("TI", ""), MAX_NAME),
        unread=unread,
    )


def properties(text: str, place: int = 0) -> Iterator[list[tuple[str, str]]]:
    r"""Yields the properties of each game in a text of GGF or SGF, in order.

    Only the main line is read, which is written before all variations, up to the first `)`. Names
    are in capitals. In SGF, whose games have numbers, `\]` does not end a value. Between games and
    between properties the text may say anything. A second `GM` begins a game whose predecessor was
    cut short.
    """
    start = START.search(text, place)
    while start:
        game: list[tuple[str, str]] = []
        place, depth, is_main, key = start.start(), 0, True, ""
        token, next_game = _SGF_TOKEN if is_sgf(text, place) else _TOKEN, None
        while depth or is_main:
            match = token.search(text, place)
            if match is None:  # cut short
                place = len(text)
                break
            sign, letters, value = match.groups()
            if sign == "(" and depth and START.match(text, match.start()):
                next_game = match.start()
            place = match.end()
            if sign in ("(", ")"):
                depth += 1 if sign == "(" else -1
                is_main &= sign == "("
            elif letters:
                key = _property_name(letters)
            elif value is not None and is_main:
                is_second = key == "GM" and any(name == key for name, _ in game)
                if is_second and next_game is not None:
                    place = next_game
                    break
                game.append((key, value))
        yield game
        start = START.search(text, place)


def is_sgf(text: str, place: int = 0) -> bool:
    """Returns whether the game at a place of a text is in SGF, whose games have numbers."""
    end = START.search(text, place + 1)
    named = _GAME_NAME.search(text, place, end.start() if end else len(text))
    if named is None:
        return _GGF_BOARD.search(text, place, end.start() if end else len(text)) is None
    return named[1].isdecimal()


def to_text(game: GgfGame) -> str:
    """Returns the game as one line of GGF, which `parse` reads back.

    ValueError if a name or time has a bracket `]`, which ends a property.
    """
    result = "?" if game.black_score is None else f"{game.black_score:+g}"
    squares, mover = notation.board_text(game.board, game.size).replace("X", "*").split()
    properties = [
        ("GM", "Othello"),
        ("PB", game.black),
        ("PW", game.white),
        ("RE", result),
        ("TI", game.time),
        ("TY", f"{game.size}{'a' if game.is_reversed else ''}"),
        ("BO", f"{game.size} {squares} {mover}"),
    ]
    is_black = game.board.is_black_to_move
    for ply, action in enumerate(game.moves):
        colour = "B" if is_black == (ply % 2 == 0) else "W"
        properties.append((colour, move_text(action, game.size)))
    for name, value in properties:
        if "]" in value:
            raise ValueError(f"GGF: {name} is {value!r}, but must not contain ']'")
    return "(;" + "".join(f"{name}[{value}]" for name, value in properties if value) + ";)"


def move_text(action: int, size: int) -> str:
    """Returns a move as GGF and NBoard write it: "F5", or "PA" for a pass."""
    return notation.action_text(action, size)[:2].upper()


def _property_name(letters: str) -> str:
    """Returns the short name of a property, of two capitals at most."""
    full = _FULL_NAMES.get(letters.lower())
    short = "".join(x for x in letters if x.isupper())
    return full or short or letters.upper()


def _parse_board(text: str, size_text: str, is_reversed: bool) -> tuple[int, notation.Board]:
    """Returns the size and the start position of `BO`, whose rows may be separated by spaces."""
    if not text:
        size = int(size_text) if size_text in map(str, variant.SIZES) else 8
        return size, usual_start(variant.Variant(size, is_reversed))
    size_text, *rows = text.split()
    if size_text.isdecimal() and int(size_text) not in variant.SIZES:
        raise ValueError(f"GGF: {other_board(int(size_text))}")
    if not rows or not size_text.isdecimal():
        raise ValueError(
            f"GGF: BO is {files.one_line(text, 40)!r}, but should be the size (4, 6 or 8), the"
            " squares and the side to move"
        )
    size = int(size_text)
    mover = rows.pop() if len(rows) > 1 and len(rows[-1]) == 1 else ""
    squares = "".join(rows)
    if not mover and len(squares) == size * size + 1:
        squares, mover = squares[:-1], squares[-1]
    with files.located("GGF: BO"):
        return size, notation.parse_board(f"{squares} {mover}", size)


def other_board(size: int) -> str:
    """Returns why a game on a board of an unusual size cannot be read."""
    return f"a {size}x{size} board; azo plays 4x4, 6x6 and 8x8"


def _parse_moves(
    moves: list[tuple[str, str]], size: int, board: notation.Board
) -> tuple[tuple[int, ...], str]:
    """Returns the actions, a pass where a side moves twice, and what cannot be read."""
    actions: list[int] = []
    is_black = board.is_black_to_move
    for number, (colour, text) in enumerate(moves, start=1):
        if (colour == "B") != is_black:
            actions.append(size * size)
        try:
            actions.append(notation.parse_action(text.partition("/")[0], size))
        except ValueError as error:
            return tuple(
                actions
            ), f"GGF: move {number}, {colour}[{files.one_line(text, 40)}]: {error}"
        is_black = colour != "B"
    return tuple(actions), ""
