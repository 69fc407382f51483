"""What the engine thinks, in words for people who play."""

from collections.abc import Sequence

import rich.table

from azo.games import notation
from azo.play.search_report import MoveReport, SearchReport

_LINE_MOVES = 6


def chance(value: float) -> str:
    """Returns an expected result in [-1, 1] as a chance of winning; a draw is half a win."""
    return f"{50 + 50 * value:.0f} %"


def outlook(thought: SearchReport, who: str, *, is_reversed: bool) -> str:
    """Returns what the side to move may expect, `who` being what it is called."""
    if thought.score is None:
        return f"{who} expects to win: {chance(thought.value)}"
    score = -thought.score if is_reversed else thought.score
    if score == 0:
        return "a draw if both play perfectly (exact)"
    verb = "wins" if score > 0 else "loses"
    return f"{who} {verb} by {abs(score)} if both play perfectly (exact)"


def reason(thought: SearchReport, who: str, size: int, *, is_reversed: bool) -> list[str]:
    """Returns lines on why a move was chosen."""
    if thought.source == "forced":
        return [f"{who} had no choice"]
    if thought.source == "book":
        return [f"{who} knows this opening from its book"]
    lines = [outlook(thought, who, is_reversed=is_reversed)]
    if len(thought.line) > 1:
        lines.append("expected: " + line_text(thought.line, size))
    return lines


def hint(thought: SearchReport, size: int, *, most: int, is_reversed: bool) -> rich.table.Table:
    """Returns the best moves of a position, for the side to move."""
    table = rich.table.Table(box=None, pad_edge=False, padding=(0, 2), header_style="bold")
    table.add_column("move")
    for name in ("wins", "visits"):
        table.add_column(name, justify="right")
    table.add_column("expected")
    for move in thought.moves[:most]:
        table.add_row(
            notation.action_text(move.action, size),
            _worth(move, is_reversed=is_reversed),
            str(move.visits) if move.visits else "",
            line_text(move.line, size),
        )
    return table


def line_text(line: Sequence[int], size: int) -> str:
    """Returns the first moves of a line."""
    return " ".join(notation.action_text(action, size) for action in line[:_LINE_MOVES])


def outcome(black_score: int, size: int, *, is_reversed: bool) -> str:
    """Returns how a finished game ended, from black's margin."""
    black = (size * size + black_score) // 2
    white = size * size - black
    advantage = -black_score if is_reversed else black_score
    if advantage == 0:
        return f"a draw, {black} to {white}"
    if advantage > 0:
        return f"black wins, {black} to {white}"
    return f"white wins, {white} to {black}"


def _worth(move: MoveReport, *, is_reversed: bool) -> str:
    if move.score is not None:
        score = -move.score if is_reversed else move.score
        return "draw" if score == 0 else f"{'win' if score > 0 else 'loss'} by {abs(score)}"
    return "" if move.value is None else chance(move.value)
