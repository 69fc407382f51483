"""Boards as programs draw them, with the moves that follow: reads only.

A drawing has one row of the board per line, with or without coordinates, borders, spaces, brackets
around a square, and notes at its right; azo's own diagrams are such drawings. A board in one line
may begin with its size, `[8 ------ ... *]` as on GGS. Black is `X`, `*`, `B`, `@`, `#` or a dark
disc, white `O`, `0`, `W` or a light disc; empty squares are `-`, `.`, `_`, `+`, or blank between
borders. In boards of digits 1 is black, 2 white, 0 empty. The side to move is named by a sign or by
words such as "white to move". Otherwise it is black, or the side that can play the moves after it.
"""

import dataclasses
import math
import re
from collections.abc import Iterator, Sequence

from azo.formats import ggf
from azo.games import notation, variant
from azo.games.host import move_lists
from azo.storage import files

_SIGNS = "XxOo*@#0BbWw.\\-_+?·"
_SIZES = tuple(sorted(variant.SIZES, reverse=True))
_TO_SIGNS = str.maketrans(
    {
        **dict.fromkeys("●⚫⬤🖤⬛", "X"),
        **dict.fromkeys("○⚪◯🤍", "O"),
        **dict.fromkeys("•∙□▢⬜🟩🟢．＿", "-"),
        **dict.fromkeys("│┃║┆┊", "|"),
        **dict.fromkeys("─━═┌┐└┘├┤┬┴┼╔╗╚╝╠╣╦╩╬", "="),
        "\u00a0": " ",
        "\ufe0e": "",
        "\ufe0f": "",
    }
)
_COLOURS = re.compile(r"\x1b\[[\d;]*m")
_CELL = rf"[\[(<]?[{_SIGNS}][\])>]?"
_ROWS = {
    size: re.compile(
        rf"[\s>]*(?:(?P<number>[1-8])[\s|.):]+)?(?P<cells>[\s|:]*(?:{_CELL}[\s|,]*?){{{size}}})"
        rf"[\s|:]*(?:(?<=[\s|])[1-8])?(?P<notes>\s*$|(?:\s{{2,}}|\s*\|).*$)"
    )
    for size in _SIZES
}
_BARS = {
    size: re.compile(rf"\s*(?P<number>[1-8])?\s*\|(?P<cells>[\s{_SIGNS}|\[\]()]+)\|(?P<notes>.*)$")
    for size in _SIZES
}
_DIGITS = re.compile(r"[\s|,\[\]]*(?:[012][\s|,\[\]]*){4,8}$")
_BETWEEN_ROWS = re.compile(r"[\s+|=-]*$")
_LETTERS = re.compile(r"[\s|+=-]*(?:[a-h][\s|]*){4,8}$", re.IGNORECASE)
_MOVER_NAMES = r"black|white|[XO*@#BW0●○]"
_TO_MOVE = re.compile(
    rf"(?<![\w*@#])({_MOVER_NAMES})(?![\w*@#])[ \t]*(?:\([^)\n]*\)[ \t]*)?"
    r"(?:(?:is\s+)?to\s+(?:move|play)\b|'s\s+(?:turn|move)\b|moves\b|plays\b)\.?",
    re.IGNORECASE,
)
_NAMED_MOVER = re.compile(
    r"\b(?:(?:side\s+)?to\s+(?:move|play)|turn|next(?:\s+player)?|mover|side|player)\s*(?:is\b|[:=])\s*"
    rf"({_MOVER_NAMES})(?![\w*@#])",
    re.IGNORECASE,
)
_FIRST_SIGN = re.compile(rf"\s*({_MOVER_NAMES})(?=[\s\];,]|$)", re.IGNORECASE)
_LAST_MOVE = re.compile(r"^.*\blast\s+move\b.*$", re.IGNORECASE | re.MULTILINE)
_MOVES_LABEL = re.compile(r"\s*(?:moves|transcript|game)\s*[:=]", re.IGNORECASE)
_MOVES_LINE = re.compile(r"^\s*(?:moves|transcript)\s*[:=]", re.IGNORECASE | re.MULTILINE)
_ONE_LINE = re.compile(rf"\s*(?:BO)?\[?\s*(?:(?P<size>\d{{1,2}})\s+)?(?P<squares>[{_SIGNS}\s/]+)")
_LINE_START = re.compile(
    rf"(?:^|[\s\"'=:(]|(?=BO\[|\[))(?=(?:BO)?\[?\s{{0,3}}(?:\d{{1,2}}\s{{1,3}})?[{_SIGNS}]{{4}})"
)
_DISC = re.compile(r"[^-.+_?·]")
_MAX_TRIED = 5000  # places where a board may begin


@dataclasses.dataclass(frozen=True)
class _Drawing:
    """A board of a text without the side to move."""

    size: int
    squares: str  # row by row, `X`, `O` and `-`
    notes: str  # at its right
    start: int  # of the drawing in the text
    end: int


def find(text: str, *, is_reversed: bool = False) -> list[ggf.GgfGame]:
    """Returns the boards of a text with the moves after each.

    The list is empty if there is no board in it, or if moves come before the first one: then it
    shows how their game ended.
    """
    text = _COLOURS.sub("", text).translate(_TO_SIGNS)
    drawings = _all(text)
    if not drawings or _has_moves(text[: drawings[0].start], drawings[0].size):
        return []
    ends = [drawing.start for drawing in drawings[1:]] + [len(text)]
    befores = [text[: drawings[0].start]] + [""] * (len(drawings) - 1)
    return [
        _game(drawing, before, text[drawing.end : end], is_reversed)
        for drawing, before, end in zip(drawings, befores, ends, strict=True)
    ]


def without(text: str) -> str:
    """Returns the beginning of a text, up to its first board in rows."""
    plain = _COLOURS.sub("", text).translate(_TO_SIGNS)
    first = next(_drawings(plain), None)
    return text if first is None else plain[: first.start]


def _all(text: str) -> list[_Drawing]:
    return list(_drawings(text)) or _in_one_line(text)


def _has_moves(text: str, size: int) -> bool:
    label = _MOVES_LINE.search(text)
    moves, _ = notation.read_moves(_without_letters(text), size)
    return label is not None or bool(moves)


def is_only_signs(text: str) -> bool:
    """Returns whether a text has nothing but squares of boards."""
    signs = re.sub(r"\s", "", text.translate(_TO_SIGNS))
    return re.fullmatch(rf"[{_SIGNS}]{{3,}}", signs) is not None and bool(
        re.search("[XxOo*.]", signs)
    )


def _drawings(text: str) -> Iterator[_Drawing]:
    """Yields the boards with one row per line, from above."""
    lines = text.splitlines(keepends=True)
    places = [0]
    for line in lines:
        places.append(places[-1] + len(line))
    first = 0
    while first < len(lines):
        found = next(filter(None, (_drawing(lines, places, first, size) for size in _SIZES)), None)
        if found is None:
            first += 1
            continue
        drawing, first = found
        yield drawing


def _drawing(
    lines: Sequence[str], places: Sequence[int], first: int, size: int
) -> tuple[_Drawing, int] | None:
    """Returns a board whose first row is in a line, and the number of the line after it."""
    rows: list[str] = []
    notes: list[str] = []
    numbers: list[str | None] = []
    number = first
    while number < len(lines) and len(rows) < size:
        line = lines[number].rstrip("\r\n")
        row = _row(line, size)
        if row is None and rows and _BETWEEN_ROWS.match(line):
            number += 1
            continue
        if row is None:
            return None
        rows.append(row[0])
        numbers.append(row[1])
        notes.append(row[2])
        number += 1
    if len(rows) < size or not _is_board("".join(rows)):
        return None
    if numbers[0] == str(size) and numbers[-1] == "1":  # the first row below, as in chess
        rows.reverse()
    drawing = _Drawing(size, "".join(rows), "\n".join(notes), places[first], places[number])
    return drawing, number


def _row(line: str, size: int) -> tuple[str, str | None, str] | None:
    """Returns the squares of a row, its number, and what stands at its right."""
    if len(line) > 500:
        return None
    if _DIGITS.match(line):
        squares = "".join(re.findall("[012]", line)).translate(str.maketrans("012", "-XO"))
        return (squares, None, "") if len(squares) == size else None
    if match := _BARS[size].match(line):
        squares = _between_bars(match["cells"], size)
        if squares:
            return squares, match["number"], match["notes"]
        return None
    if "|" in line and not re.search(r"[\w*@#.]", line):
        return None  # a border
    if match := _ROWS[size].match(line):
        squares = re.sub(rf"[^{_SIGNS}]", "", match["cells"])
        return _plain(squares), match["number"], match["notes"]
    return None


def _between_bars(inside: str, size: int) -> str:
    """Returns the squares between the borders of a row, whose empty squares may be blank."""
    parts = inside.split("|")
    if len(parts) == size:
        cells = [part.strip(" \t[]()") or "-" for part in parts]
    elif len(parts) > 1:
        return ""
    elif len(re.sub(r"[\s\[\]()]", "", inside)) == size:
        cells = list(re.sub(r"[\s\[\]()]", "", inside))
    elif len(inside) == size:
        cells = [x.strip() or "-" for x in inside]
    elif len(inside) in (2 * size - 1, 2 * size + 1):
        start = (len(inside) - 2 * size + 1) // 2
        cells = [x.strip() or "-" for x in inside[start::2][:size]]
    else:
        return ""
    return _plain("".join(cells)) if all(len(cell) == 1 for cell in cells) else ""


def _is_board(squares: str) -> bool:
    """Returns whether squares have discs and are no line of one sign, as below a title."""
    return len(set(squares)) > 1 and _DISC.search(squares) is not None


def _plain(squares: str) -> str:
    """Returns the squares of a row with the three signs of `notation`."""
    return re.sub("[+?]", "-", squares)


def _in_one_line(text: str) -> list[_Drawing]:
    """Returns the boards whose squares follow one another, possibly over several lines."""
    drawings: list[_Drawing] = []
    place = 0
    for _ in range(_MAX_TRIED):
        start = _LINE_START.search(text, place)
        match = _ONE_LINE.match(text, start.end()) if start else None
        if start is None or match is None:
            break
        drawing = _of_signs(match)
        place = match.end() if drawing is None else drawing.end
        if drawing is not None:
            drawings.append(drawing)
    return drawings


def _of_signs(match: re.Match[str]) -> _Drawing | None:
    """Returns the board that the first words of a text are, the largest if it may be several."""
    ends: dict[int, int] = {}
    squares = ""
    for word in re.finditer(r"[^\s/]+", match["squares"]):
        for size in _SIZES:
            has_mover = len(squares) + len(word[0]) == size**2 + 1 and size**2 > len(squares)
            if len(squares) + len(word[0]) == size**2 or has_mover:
                ends[size] = match.start("squares") + word.start() + size**2 - len(squares)
        squares += word[0]
        if len(squares) > max(_SIZES) ** 2:
            break
    if not _is_board(squares):
        return None
    named = int(match["size"]) if match["size"] else math.isqrt(len(squares))
    if named not in _SIZES and named**2 in (len(squares), len(squares) - 1) and named > 4:
        raise ValueError(ggf.other_board(named))
    usable = (size for size in _SIZES if size in ends and match["size"] in (None, str(size)))
    largest = next(usable, None)
    if largest is None:
        return None
    return _Drawing(largest, _plain(squares[: largest**2]), "", match.start(), ends[largest])


def _game(drawing: _Drawing, before: str, after: str, is_reversed: bool) -> ggf.GgfGame:
    rest, mover = _mover_of(after, drawing.notes, before)
    label = _MOVES_LABEL.match(rest)
    moves, unread = notation.read_moves(rest[label.end() :] if label else rest, drawing.size)
    sides = [mover] if mover else ["X", "O"]
    boards = [notation.parse_board(f"{drawing.squares} {side}", drawing.size) for side in sides]
    rules = variant.Variant(drawing.size, is_reversed)
    board = next((x for x in boards if not moves or _can_play(rules, moves, x)), boards[0])
    return ggf.GgfGame(
        drawing.size,
        board,
        tuple(moves),
        is_reversed=is_reversed,
        unread=unread if moves else "",
        note="" if moves or not unread else _ignored(rest),
    )


def _ignored(rest: str) -> str:
    """Returns a note on text after a board that names squares but has no moves first."""
    has_squares = re.search(r"\b[a-h][1-8]\b", rest, re.IGNORECASE)
    return f"ignored: {files.one_line(rest, 40)}" if has_squares else ""


def _can_play(rules: variant.Variant, moves: Sequence[int], board: notation.Board) -> bool:
    try:
        move_lists.replay(rules, moves, board)
    except ValueError:
        return False
    return True


def _mover_of(after: str, notes: str, before: str) -> tuple[str, str]:
    """Returns the text after a board without its side to move, and that side, "" if unknown."""
    after = _without_letters(_LAST_MOVE.sub("", after))
    for pattern in (_TO_MOVE, _NAMED_MOVER):
        if match := pattern.search(after):
            return after[: match.start()] + after[match.end() :], _side(match[1])
    if first := _FIRST_SIGN.match(after):
        return after[first.end() :].lstrip(" ];"), _side(first[1])
    for other in (notes, before):
        for pattern in (_TO_MOVE, _NAMED_MOVER):
            if match := pattern.search(other):
                return after.lstrip(" ]"), _side(match[1])
    return after.lstrip(" ]"), ""


def _side(name: str) -> str:
    return "O" if name.lower() in ("white", "w", "o", "0", "○") else "X"


def _without_letters(text: str) -> str:
    """Returns a text without the lines that name the columns of a board, or are a border."""
    lines = text.splitlines()
    rows = (x for x in lines if not (_LETTERS.match(x) or (x.strip() and _BETWEEN_ROWS.match(x))))
    return "\n".join(rows)
