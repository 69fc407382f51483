"""Games as text in the Generic Game Format of GGS, which the NBoard protocol sends to engines.

A game is one text of properties, `(;GM[Othello]PB[name]PW[name]RE[+4]TY[8]BO[8 ... *]B[F5]W[D6];)`:

* `PB` and `PW` name the players, `RE` is the result for black in discs.
* `BO` has the size, the squares of the start position row by row, and the side to move (`*` black).
* `B` and `W` are moves, passes included (`PA`). The engine's evaluation and the seconds may follow,
  `F5/1.20/3.5`; they are skipped, as are properties that `GgfGame` lacks.

https://www.skatgame.net/mburo/ggsa/ggf describes the format. Moves are not played here, so they may
be illegal; `move_lists.replay` checks them.
"""

import dataclasses
import re
from collections.abc import Iterator, Sequence

from azo.games import notation, variant
from azo.storage import files

MAX_NAME = 100  # characters of a player's name; control characters are replaced

TOKEN = re.compile(r"\s*(?:([();])|([A-Za-z]+)|\[([^\]]*)\])")
_TYPE = re.compile(r"[sbw]?(\d+)(a?)(?:r\d+)?(a?)", re.IGNORECASE)


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


def usual_start(game: variant.Variant) -> notation.Board:
    """Returns the start position of the rules."""
    return notation.Board(*game.start_discs, is_black_to_move=True)


def parse(text: str) -> GgfGame:
    """Returns the game of a GGF text, from `(;` to `;)`; ValueError otherwise, see `game_of`."""
    body = text.strip()
    if not (body.startswith("(;") and body.endswith(";)") and len(body) >= 4):
        raise ValueError(f"GGF: text is {files.one_line(body, 40)!r}, but should be (; ... ;)")
    return game_of(next(properties(body)))


def game_of(pairs: Sequence[tuple[str, str]]) -> GgfGame:
    """Returns the game of the `properties` of GGF.

    ValueError for another game than Othello, no start position, a bad board, or a move that cannot
    be read or is of the wrong side.
    """
    values: dict[str, str] = {}
    moves = []
    for name, value in pairs:
        if name in ("B", "W"):
            moves.append((name, value))
        elif name in ("KB", "KW"):
            raise ValueError(f"GGF: {name}[{value}] is a move of a komi game: not supported")
        elif name in values:
            raise ValueError(f"GGF: {name} occurs twice: {values[name]!r} and {value!r}")
        else:
            values[name] = value.strip()
    if values.get("GM", "").lower() != "othello":
        raise ValueError(f"GGF: the game is {values.get('GM', 'not named')!r}, not 'Othello'")
    size, board = _parse_board(values.get("BO", ""))
    return GgfGame(
        size=size,
        board=board,
        moves=_parse_moves(moves, size, board),
        black=files.one_line(values.get("PB", ""), MAX_NAME),
        white=files.one_line(values.get("PW", ""), MAX_NAME),
        is_reversed=_parse_type(values.get("TY", str(size)), size),
        time=files.one_line(values.get("TI", ""), MAX_NAME),
    )


def properties(text: str, token: re.Pattern[str] = TOKEN) -> Iterator[list[tuple[str, str]]]:
    """Yields the properties of each game in a text of GGF or SGF, in order.

    Only the main line is read, which is written before all variations, up to the first `)`. Between
    games the text may say anything. A `token` is one of `(`, `)` and `;`, or the name of a
    property, or a value in brackets; ValueError if there is another.
    """
    place = text.find("(;")
    while place >= 0:
        game: list[tuple[str, str]] = []
        depth, is_main, key = 0, True, ""
        while depth or is_main:
            match = token.match(text, place)
            if match is None:
                if not text[place:].strip():
                    break  # cut short
                rest = files.one_line(text[place : place + 40])
                raise ValueError(
                    f"cannot read {rest!r} at character {place + 1}: expected a property such as"
                    " B[F5]"
                )
            sign, letters, value = match.groups()
            place = match.end()
            if sign in ("(", ")"):
                depth += 1 if sign == "(" else -1
                is_main &= sign == "("
            elif letters:
                key = letters.upper()
            elif value is not None and is_main:
                game.append((key, value))
        yield game
        place = text.find("(;", place)


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


def _parse_board(text: str) -> tuple[int, notation.Board]:
    """Returns the size and the start position of `BO`, whose rows may be separated by spaces."""
    if not text:
        raise ValueError("GGF: there is no start position, such as BO[8 ... *]")
    size, *rows, mover = text.split() if len(text.split()) > 2 else ("", "")
    if size not in map(str, variant.SIZES):
        raise ValueError(
            f"GGF: BO is {files.one_line(text, 40)!r}, but should be the size (4, 6 or 8), the"
            " squares and the side to move"
        )
    with files.located("GGF: BO"):
        return int(size), notation.parse_board(f"{''.join(rows)} {mover}", int(size))


def _parse_type(text: str, size: int) -> bool:
    match = _TYPE.fullmatch(text)
    if match is None or int(match[1]) != size:
        raise ValueError(
            f"GGF: TY is {text!r}, but should be {size}, the board size of BO. Append 'a' if fewer"
            " discs win, and 'r' with a number for a random start"
        )
    return bool(match[2] or match[3])


def _parse_moves(moves: list[tuple[str, str]], size: int, board: notation.Board) -> tuple[int, ...]:
    actions = []
    is_black = board.is_black_to_move
    for number, (colour, text) in enumerate(moves, start=1):
        where = f"GGF: move {number}, {colour}[{text}]"
        if (colour == "B") != is_black:
            raise ValueError(f"{where}: {'black' if is_black else 'white'} is to move")
        with files.located(where):
            actions.append(notation.parse_action(text.partition("/")[0], size))
        is_black = not is_black
    return tuple(actions)
