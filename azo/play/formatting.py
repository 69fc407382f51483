"""Moves, values and results as text for people."""

from collections.abc import Iterable

import rich.table

from azo.games import notation, variant
from azo.play.search_report import SearchReport

_LINE_MOVES = 6


def chance(value: float | None) -> str:
    """Returns an expected result in [-1, 1] as a chance of winning, "" for None.

    A draw is half a win.
    """
    return "" if value is None else f"{50 + 50 * value:.0f} %"


def discs(expected: float | None, score: int | None) -> str:
    """Returns an exact score in whole discs, else the expected one; "" if both are None."""
    if score is not None:
        return f"{score:+d}"
    return "" if expected is None else f"{expected:+z.1f}"


def move(action: int | None, size: int) -> str:
    """Returns a move; "" for None."""
    return "" if action is None else notation.action_text(action, size)


def line(actions: Iterable[int], size: int) -> str:
    """Returns the first moves of a line."""
    return " ".join(notation.action_text(action, size) for action in tuple(actions)[:_LINE_MOVES])


def colour(board: notation.Board) -> str:
    """Returns the colour of the side to move."""
    return "black" if board.is_black_to_move else "white"


def outlook(report: SearchReport, who: str, game: variant.Variant) -> str:
    """Returns the expected result for the side to move, which is called `who`."""
    if report.score is None:
        expected = discs(report.discs, None)
        return f"{who} expects to win: {chance(report.value)}, {expected} discs"
    score = -report.score if game.is_reversed else report.score
    if score == 0:
        return "a draw if both play perfectly (exact)"
    verb = "wins" if score > 0 else "loses"
    return f"{who} {verb} by {abs(score)} if both play perfectly (exact)"


def reason(report: SearchReport, who: str, game: variant.Variant) -> list[str]:
    """Returns lines that explain the choice of a move."""
    if report.source == "forced":
        return [f"{who} had no choice"]
    if report.source == "book":
        return [f"{who} knows this opening from its book"]
    lines = [outlook(report, who, game)]
    if len(report.line) > 1:
        lines.append("expected: " + line(report.line, game.size))
    return lines


def hint(report: SearchReport, game: variant.Variant, *, most: int) -> rich.table.Table:
    """Returns a table of the best moves, for the side to move."""
    rows = table("move", "wins>", "discs>", "visits>", "expected", padding=2)
    for each in report.moves[:most]:
        expected = line(each.line, game.size)
        rows.add_row(
            move(each.action, game.size),
            chance(each.value),
            discs(each.discs, each.score),
            str(each.visits or ""),
            expected,
        )
    return rows


def outcome(black_score: int, game: variant.Variant) -> str:
    """Returns the result of a finished game, from black's score."""
    black = (game.size**2 + black_score) // 2
    white = game.size**2 - black
    if black == white:
        return f"a draw, {black} to {white}"
    if (black > white) != game.is_reversed:
        return f"black wins, {black} to {white}"
    return f"white wins, {white} to {black}"


def table(*columns: str, padding: int = 1) -> rich.table.Table:
    """Returns an empty table without lines; a column whose name ends in > is right-aligned."""
    rows = rich.table.Table(box=None, pad_edge=False, padding=(0, padding), header_style="bold")
    for column in columns:
        rows.add_column(column.rstrip(">"), justify="right" if column.endswith(">") else "left")
    return rows
