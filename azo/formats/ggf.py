"""Games in the Generic Game Format of GGS, which the NBoard protocol sends to engines.

A game is one text of properties, `(;GM[Othello]PB[name]PW[name]RE[+4]TY[8]BO[8 ... *]B[F5]W[D6];)`:

* `PB` and `PW` name the players, `RE` is the result for black in discs.
* `BO` has the size, the squares of the start position row by row, and the side to move (`*` black).
* `B` and `W` are moves, passes included (`PA`). The engine's evaluation and the seconds may follow,
  `F5/1.20/3.5`; they are skipped, as are properties that `GgfGame` lacks.

https://www.skatgame.net/mburo/ggsa/ggf describes the format. Moves are not played here, so they may
be illegal; `replaying.replay_actions` checks them.
"""

import dataclasses
import re

from azo.formats import files
from azo.games import notation

MAX_NAME = 100  # characters of a player's name; control characters are replaced

_PROPERTY = re.compile(r"\s*([A-Za-z]+)\s*\[([^\]]*)\]")
_TYPE = re.compile(r"[sbw]?(\d+)(a?)(?:r\d+)?(a?)", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class GgfGame:
    """One game, or the beginning of one."""

    size: int
    board: notation.Board  # the start position
    moves: tuple[int, ...] = ()  # actions since then, passes included
    black: str = ""  # name of the player
    white: str = ""
    black_score: float | None = None  # black's discs minus white's, only written; None if unknown
    is_reversed: bool = False  # fewer discs win
    time: str = ""  # the clocks, such as "15:00"


def parse(text: str) -> GgfGame:
    """Returns the game of a GGF text.

    Raises:
      ValueError: a text that does not begin with `(;` and end with `;)`, another game than Othello,
        no start position, a bad board, or a move that cannot be read or is of the wrong
        side.
    """
    values: dict[str, str] = {}
    moves = []
    for name, value in _properties(text):
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


def to_text(game: GgfGame) -> str:
    """Returns the game as one line of GGF, which `parse` reads back.

    Raises:
      ValueError: if a name or time has a bracket `]`, which ends a property.
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


def _properties(text: str) -> list[tuple[str, str]]:
    body = text.strip()
    if not (body.startswith("(;") and body.endswith(";)") and len(body) >= 4):
        raise ValueError(f"GGF: text is {_short(body)!r}, but should be (; ... ;)")
    body = body[:-2].rstrip()
    properties, place = [], 2
    while place < len(body):
        match = _PROPERTY.match(body, place)
        if match is None:
            raise ValueError(
                f"GGF: cannot read {_short(body[place : place + 41])!r} at character {place + 1}:"
                " expected a property such as B[F5]"
            )
        properties.append((match[1].upper(), match[2]))
        place = match.end()
    return properties


def _parse_board(text: str) -> tuple[int, notation.Board]:
    """Returns the size and the start position of `BO`, whose rows may be separated by spaces."""
    if not text:
        raise ValueError("GGF: there is no start position, such as BO[8 ... *]")
    size, *rows, mover = text.split() if len(text.split()) > 2 else ("", "")
    if size not in ("4", "5", "6", "7", "8"):
        raise ValueError(
            f"GGF: BO is {_short(text)!r}, but should be the size (4 to 8), the squares and"
            " the side to move"
        )
    try:
        return int(size), notation.parse_board(f"{''.join(rows)} {mover}", int(size))
    except ValueError as error:
        raise ValueError(f"GGF: BO: {error}") from None


def _parse_type(text: str, size: int) -> bool:
    """Returns whether the side with fewer discs wins."""
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
        try:
            actions.append(notation.parse_action(text.partition("/")[0], size))
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
        is_black = not is_black
    return tuple(actions)


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
