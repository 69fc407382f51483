"""Positions with known scores: OBF files of Edax, and CSV.

An OBF line is `board mover; MOVE:score; MOVE:score; ... % comment`: a board as `notation` reads it,
then scores of moves for the side to move, in any order, possibly none. A CSV has a heading with the
columns `board` and `mover`, and optionally `score` or `score_mover`. Lines are
numbered from 1.
"""

import dataclasses
import math
import pathlib
import random
import re
from collections.abc import Callable, Iterable, Iterator

from azo.formats import decoding, ggf
from azo.games import notation, plurals, variant
from azo.storage import files

_FILLER = "--"  # Edax fills lines up with --:-127, which is no move
_MAX_FAULTS = 3  # that are named
_NUMBER = re.compile(r"[+-]?\d+")


@dataclasses.dataclass(frozen=True)
class Problem:
    """One position, with the scores that its file gives."""

    line: int
    size: int
    board: notation.Board
    score: int | None  # for the side to move, if the file scores the position and not its moves
    move_scores: dict[int, int]  # by action; empty if the file has none

    def best_score(self, *, is_reversed: bool = False) -> int | None:
        """Returns the score that the file gives the position, None if it has none."""
        best = min if is_reversed else max
        return best(self.move_scores.values(), default=self.score)

    @property
    def num_empties(self) -> int:
        """The number of empty squares."""
        return self.size**2 - (self.board.black | self.board.white).bit_count()


def read(
    path: pathlib.Path, *, on_left_out: Callable[[str], object] | None = None
) -> list[Problem]:
    """Returns the positions of an OBF file or of a CSV, also packed; messages name the path.

    ValueError at the first bad line. With `on_left_out` bad lines are left out, and it gets one
    line that names them; then it is an error if no other line has a position.
    """
    lines = decoding.decode(files.read(path)).splitlines()
    if on_left_out is None:
        return list(parse_lines(lines, str(path)))
    faults: list[str] = []
    problems = list(parse_lines(lines, str(path), faults))
    if faults and not problems:
        raise ValueError(faults[0])
    if faults:
        more = f"; and {len(faults) - _MAX_FAULTS} more" if len(faults) > _MAX_FAULTS else ""
        on_left_out(f"left out: {'; '.join(faults[:_MAX_FAULTS])}{more}")
    return problems


def read_scored(path: pathlib.Path, *, size: int, limit: int, seed: int) -> list[Problem]:
    """Returns the positions of a file that have a score, in its order.

    From more than `limit` this many are drawn by the `seed`. ValueError, one line, also if a board
    has not `size` rows, or no position has a score.
    """
    problems = read(path)
    for problem in problems:
        if problem.size != size:
            raise ValueError(
                f"{path}:{problem.line}: a board of {problem.size}x{problem.size} squares,"
                f" not {size}x{size}"
            )
    scored = [problem for problem in problems if problem.best_score() is not None]
    if not scored:
        raise ValueError(f"{path}: no position in it has a score")
    if len(scored) > limit:
        rows = random.Random(seed).sample(range(len(scored)), limit)
        scored = [scored[row] for row in sorted(rows)]
    return scored


def parse_lines(
    lines: Iterable[str], place: str, faults: list[str] | None = None
) -> Iterator[Problem]:
    """Yields the positions of OBF or CSV; a comma in the first line means CSV.

    ValueError at the first bad line: the message begins with `place` and the line's number. With
    `faults` these messages are added to it, and the other lines are read.
    """
    names: list[str] | None = None
    for number, line in enumerate(lines, start=1):
        text = line.partition("%")[0].strip()
        if number == 1 and "," in text:
            names = [name.strip() for name in line.split(",")]
            if missing := [name for name in ("board", "mover") if name not in names]:
                raise ValueError(
                    f"{place}: no column {missing[0]!r}; there are: {', '.join(names)}"
                )
        elif text:
            try:
                with files.located(f"{place}:{number}"):
                    if names is None:
                        problem = parse_line(text, number)
                    else:
                        problem = _parse_row(names, line, number)
            except ValueError as error:
                if faults is None:
                    raise
                faults.append(str(error))
                continue
            yield problem


def parse_line(text: str, number: int = 1) -> Problem:
    """Returns the position of one OBF line; ValueError if it cannot be read, or is impossible."""
    first, *rest = text.partition("%")[0].split(";")
    size, board = _parse_board(first)
    move_scores = {}
    for part in filter(None, map(str.strip, rest)):
        move, _, score = part.partition(":")
        if move == _FILLER:
            continue
        with files.located(f"cannot read move and score {part!r}"):
            action = notation.parse_action(move, size)
            if not _NUMBER.fullmatch(score):
                raise ValueError("expected something like F5:+2")
        move_scores[action] = int(score)
    return Problem(number, size, board, None, move_scores)


def _parse_row(names: list[str], line: str, number: int) -> Problem:
    (fields,) = files.csv_rows([line])
    row = dict(zip(names, fields, strict=False))
    size, board = _parse_board(f"{row.get('board', '')} {row.get('mover', '')}")
    text = row.get("score_mover") or row.get("score")
    if text and not _NUMBER.fullmatch(text):
        raise ValueError(f"score {text!r} is not a whole number")
    return Problem(number, size, board, int(text) if text else None, {})


def _parse_board(text: str) -> tuple[int, notation.Board]:
    words = text.split()
    length = len(words[0]) if words else 0
    size = math.isqrt(length)
    if size not in variant.SIZES and size > 1 and size**2 == length:
        raise ValueError(ggf.other_board(size))
    if length not in (16, 36, 64):
        squares = plurals.counted(length, "square")
        raise ValueError(f"board of {squares}; boards have 16 (4x4), 36 (6x6) or 64 (8x8)")
    board = notation.parse_board(" ".join(words), size)
    low = size // 2 - 1
    for row, column in ((low, low), (low, low + 1), (low + 1, low), (low + 1, low + 1)):
        if not (board.black | board.white) >> (8 * row + column) & 1:
            square = notation.action_text(row * size + column, size)
            raise ValueError(
                f"impossible board: {square} is empty, but the centre squares always have discs"
            )
    return size, board
