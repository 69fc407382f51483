"""Moves, transcripts and boards as text: the only module of `games` that names colours.

A square is a column letter and a row number from the upper left corner, so "f5" is action 37 of an
8x8 board. A transcript is one string of moves, "f5d6c3". Between them may be white space,
punctuation, move numbers ("1. f5 d6 2. c3"), colours ("B: f5"), clocks ("0:07"), marks ("!?") and
comments ("{...}", "(...)"); a result ("33-31", "1-0", "B+4") may stand before or after them. Forced
passes are written ("pa") or left out. Black moves first, unless a start position says otherwise,
and colours alternate with every ply.

A board is `size * size` characters row by row from a1, `X` black, `O` white, `-` empty, then a
space and the colour to move, as in the OBF files of Edax. Other programs write `*`, `B`, `@` or `#`
for black, `W` or `0` for white, and `.` or `_` for empty squares.
"""

import dataclasses
import functools
import re
import unicodedata
from collections.abc import Sequence

from azo.games import plurals

PASS_TEXT = "pass"

_COLUMNS = "abcdefgh"
_PASS_TEXTS = ("pass", "passe", "passes", "pas", "pa", "ps", "skip", "--", "@@")
_SQUARE = "[a-h][1-8]"
_PASS = "pass(?:es?)?|pas?|ps|skip|--|@@"
_GAP = rf"""(?:
    [\s,;:./|\\>_"'`\[\]!?=~\#–—−…·•→\u200b\ufeff]
    | -(?!-)                                        # two are a pass
    | \+(?={_SQUARE})
    | \{{[^}}]*\}} | \([^()]*\) | \$\d{{1,3}}         # comments
    | \d{{1,2}}:\d{{2}}(?::\d{{2}})?(?:\.\d+)?        # a clock
    | [+-]?\d{{1,2}}\.\d+(?=[\s,\])]) | [+-]\d{{1,2}}(?=[\s,\])])  # an evaluation
    | \d{{1,3}}(?:[.):]+ | (?=\s*(?:{_SQUARE}|{_PASS})))  # the number of a move: "12.", "12"
    | (?:[bwxo*●○]|black|white)(?=\s*[:.\s]\s*(?:{_SQUARE}|{_PASS}))
)*+"""
_MOVE = rf"({_SQUARE}|{_PASS}){_GAP}"
_RESULT = rf"""
    (?:(?:final\s+)?(?:result|score)\s*[:=]?\s*)?
    (?:
        \d{{1,2}}\s?[-:–]\s?\d{{1,2}} | 1[/⁄]2(?:-1[/⁄]2)? | \* | [+-]\s?\d{{1,2}}(?:\.\d+)?
        | [bw]\+(?:\d{{1,2}}(?:\.\d+)?|r(?:esign)?|t(?:ime)?|f(?:orfeit)?)\b
        | (?:black|white|draw|tie)\b(?:\s+(?:wins?|won|by|resigns?|with)\b)*
          \s*[+]?[\d:–-]*(?:\s+discs?)?
    ){_GAP}"""
_MOVERS = {"black": "X", "white": "O"}
_FLAGS = re.IGNORECASE | re.VERBOSE
_GAP_PATTERN, _MOVE_PATTERN = re.compile(_GAP, _FLAGS), re.compile(_MOVE, _FLAGS)
_RESULT_PATTERN = re.compile(_RESULT, _FLAGS)
_SYMBOLS = str.maketrans("xbBoOwW*@#●⚫0○⚪._·", "XXXOOOOXXXXXOOO---")


@dataclasses.dataclass(frozen=True)
class Board:
    """Discs by colour, as Python integers with bit `8 * row + column`."""

    black: int
    white: int
    is_black_to_move: bool

    @property
    def player(self) -> int:
        """The discs of the side to move."""
        return self.black if self.is_black_to_move else self.white

    @property
    def opponent(self) -> int:
        """The discs of the other side."""
        return self.white if self.is_black_to_move else self.black


def action_text(action: int, size: int) -> str:
    """Returns a square as text such as "f5", or "pass"."""
    if action == size * size:
        return PASS_TEXT
    row, column = divmod(int(action), size)
    return f"{_COLUMNS[column]}{row + 1}"


@functools.lru_cache(maxsize=1024)
def parse_action(text: str, size: int) -> int:
    """Returns the action of one move: a square such as "f5", or "pass", "pa", "ps" or "--".

    Other texts, and squares outside the board, raise ValueError.
    """
    move = text.strip().lower()
    if move in _PASS_TEXTS:
        return size * size
    is_square = len(move) == 2 and move[0] in _COLUMNS[:size] and move[1] in "12345678"[:size]
    if not is_square:
        corner = action_text(size * size - 1, size)
        raise ValueError(f"unknown move {text!r}: squares are a1 to {corner}, a pass is 'pass'")
    return (int(move[1]) - 1) * size + _COLUMNS.index(move[0])


def parse_moves(text: str, size: int) -> list[int]:
    """Returns the actions of a transcript as written: nothing is played, no pass is added.

    The first part that is not a move on this board raises ValueError.
    """
    actions, problem = read_moves(text, size)
    if problem:
        raise ValueError(problem)
    return actions


def read_moves(text: str, size: int) -> tuple[list[int], str]:
    """Returns the actions of a transcript up to the first part that is not a move on this board.

    The second value says what that part is; it is "" if the whole text was read.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)  # letters and digits of double width
    if re.fullmatch(r"\s*\([^()]*\)\s*", text):
        text = text.strip()[1:-1]
    actions: list[int] = []
    place = _after_gap(text, 0)
    result = _RESULT_PATTERN.match(text, place)
    if result and _MOVE_PATTERN.match(text, result.end()):
        place = result.end()
    while place < len(text):
        match = _MOVE_PATTERN.match(text, place)
        try:
            if match is None:
                raise ValueError
            actions.append(parse_action(match[1], size))
        except ValueError:
            if actions and _RESULT_PATTERN.fullmatch(text, place):
                break
            corner = action_text(size * size - 1, size)
            return actions, (
                f"cannot read {text[place : place + 10].rstrip()!r} after"
                f" {plurals.counted(len(actions), 'move')}: squares are a1 to {corner}, a pass is"
                " 'pa'"
            )
        place = match.end()
    return actions, ""


def _after_gap(text: str, place: int) -> int:
    gap = _GAP_PATTERN.match(text, place)
    return gap.end() if gap else place


def transcript(actions: Sequence[int], size: int, *, has_passes: bool = False) -> str:
    """Returns actions as one string of squares; passes are "pa", or left out by default."""
    written = [a for a in actions if has_passes or a != size * size]
    return "".join(action_text(a, size)[:2] for a in written)


def parse_board(text: str, size: int) -> Board:
    """Returns the board that a text describes.

    The text has `size * size` characters in any case of letters, then white space and the colour to
    move, which is black if left out. Any other text raises ValueError.
    """
    words = [_MOVERS.get(word.lower(), word) for word in text.split()]
    words = [word.translate(_SYMBOLS) for word in words]
    if len(words) not in (1, 2):
        raise ValueError(f"board {text!r}: expected the squares, a space and the colour to move")
    squares, mover = (*words, "X")[:2]
    if len(squares) != size * size:
        raise ValueError(
            f"board {text!r}: {plurals.counted(len(squares), 'square')}, but a {size}x{size} board"
            f" has {size * size}"
        )
    if unknown := re.search("[^XO-]", squares):
        raise ValueError(
            f"board {text!r}: unknown character {unknown[0]!r} at "
            f"{action_text(unknown.start(), size)}, use X (black), O (white) or - (empty)"
        )
    if mover not in ("X", "O"):
        raise ValueError(f"board {text!r}: unknown mover {mover!r}, use X (black) or O (white)")
    discs = {"X": 0, "O": 0, "-": 0}
    for index, symbol in enumerate(squares):
        discs[symbol] |= 1 << (8 * (index // size) + index % size)
    return Board(discs["X"], discs["O"], mover == "X")


def board_text(board: Board, size: int) -> str:
    """Returns one line that `parse_board` reads: the squares, a space, the mover."""
    return "".join(_rows(board, size)) + (" X" if board.is_black_to_move else " O")


def diagram(board: Board, size: int) -> str:
    """Returns a grid with coordinates for people to read, and whose turn it is."""
    letters = "  " + " ".join(_COLUMNS[:size])
    rows = [f"{i} {' '.join(row)} {i}" for i, row in enumerate(_rows(board, size), start=1)]
    mover = "black (X)" if board.is_black_to_move else "white (O)"
    return "\n".join([letters, *rows, letters, f"{mover} to move"])


def _rows(board: Board, size: int) -> list[str]:
    def character(bit: int) -> str:
        return "X" if board.black >> bit & 1 else "O" if board.white >> bit & 1 else "-"

    return ["".join(character(8 * row + col) for col in range(size)) for row in range(size)]
