"""Othello games in the Smart Game Format, as Edax, Cassio and Quarry write them: reads only.

    (;FF[4]GM[2]SZ[8]PB[ann]PW[bob]AB[d5][e4]AW[d4][e5]PL[B];B[f5];W[d6];B[c3])

`GM[2]` is Othello. `AB`, `AW` and `AE` change the usual start; `PL` is the side to move. Squares
are "f5", or "fe" with the row as a letter from above, as in Go. https://www.red-bean.com/sgf
describes the format; `ggf.properties` reads its syntax.
"""

import re
from collections.abc import Sequence

from azo.formats import ggf
from azo.games import notation, variant
from azo.storage import files

_GAMES = {"1": "Go", "3": "chess", "4": "Gomoku", "11": "Hex"}
_LETTERS = "abcdefgh"
_SIZE = re.compile(r"(\d{1,2})(?:\s*[:x]\s*\1)?")
_USUAL_SIZE = 8


def game_of(pairs: Sequence[tuple[str, str]]) -> ggf.GgfGame:
    """Returns the game of `ggf.properties`; ValueError for another game, or a bad start position.

    Moves may be illegal; a pass is added where a side moves twice. `unread` says which move cannot
    be read. A game that is not named is Othello if its squares are.
    """
    values: dict[str, str] = {}
    for name, value in pairs:
        values.setdefault(name, re.sub(r"\\(.)", r"\1", value, flags=re.DOTALL).strip())
    number = values.get("GM", "2" if _has_squares_of_othello(pairs) else "1")
    if number != "2":
        game = _GAMES.get(number, f"number {files.one_line(number, 40)}")
        raise ValueError(f"SGF: the game is {game} (GM[{number}]), not Othello (GM[2])")
    size = _size(values.get("SZ", ""))
    moves = [(name, value) for name, value in pairs if name in ("B", "W")]
    mover = values.get("PL", "")[:1].upper() or (moves[0][0] if moves else "B")
    is_black = mover in ("B", "1")  # "B", "black" or "1"
    board = _board(pairs, size, is_black)
    actions: list[int] = []
    unread = ""
    for name, value in moves:
        if (name == "B") != is_black:
            actions.append(size * size)
        try:
            actions.append(_action(value, size))
        except ValueError as error:
            unread = str(error)
            break
        is_black = name != "B"
    black, white = (files.one_line(values.get(x, ""), ggf.MAX_NAME) for x in ("PB", "PW"))
    return ggf.GgfGame(size, board, tuple(actions), black, white, unread=unread)


def _has_squares_of_othello(pairs: Sequence[tuple[str, str]]) -> bool:
    return not any(
        name in ("B", "W") and re.fullmatch("[a-t][a-t]", value) and not _is_on_board(value)
        for name, value in pairs
    )


def _is_on_board(square: str) -> bool:
    return square == "tt" or set(square) <= set(_LETTERS)


def _size(text: str) -> int:
    match = _SIZE.fullmatch(text)
    size = int(match[1]) if match else _USUAL_SIZE
    if size not in variant.SIZES:
        raise ValueError(f"SGF: {ggf.other_board(size)}")
    return size


def _board(pairs: Sequence[tuple[str, str]], size: int, is_black: bool) -> notation.Board:
    """Returns the start position: the usual one with its changes."""
    black, white = variant.Variant(size).start_discs
    discs = {"AE": 0, "AB": black, "AW": white}
    for name, value in sorted((x for x in pairs if x[0] in discs), key=lambda x: x[0] != "AE"):
        if not value.strip():
            continue
        corners = [_action(part, size) for part in value.split(":")]
        if size * size in corners:
            raise ValueError(f"SGF: {name}[{value}] is not a square")
        (top, left), (bottom, right) = (divmod(corners[i], size) for i in (0, -1))
        for row in range(top, bottom + 1):
            for column in range(left, right + 1):
                bit = 1 << (8 * row + column)
                discs = {x: bits & ~bit for x, bits in discs.items()}
                discs[name] |= bit
    return notation.Board(discs["AB"], discs["AW"], is_black_to_move=is_black)


def _action(text: str, size: int) -> int:
    square = text.partition("/")[0].strip().lower()
    if square in ("", "tt"):
        return size * size
    if len(square) == 2 and set(square) <= set(_LETTERS[:size]):
        square = f"{square[0]}{_LETTERS.index(square[1]) + 1}"
    with files.located("SGF"):
        return notation.parse_action(square, size)
