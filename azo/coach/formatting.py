"""Moves, values and results as text for people."""

from collections.abc import Iterable

import rich.table

from azo.engine import search_report
from azo.engine.search_report import SearchReport
from azo.games import notation, variant

_LINE_MOVES = 6


def chance(value: float | None) -> str:
    """Returns an expected result in [-1, 1] as a chance of winning, "" for None.

    A draw is half a win. Only a certain result is 0 or 100 %.
    """
    if value is None:
        return ""
    percent = round(50 + 50 * value)
    return f"{percent if abs(value) == 1 else min(max(percent, 1), 99)} %"


def discs(expected: float | None, score: int | None) -> str:
    """Returns an exact score, or the expected one in whole discs, "~+3"; "" if both are None."""
    if score is not None:
        return f"{score:+d}"
    if expected is None:
        return ""
    number = round(search_report.rounded(expected))
    return f"~{number:+d}" if number else "~0"


def lost(num_discs: float, *, is_exact: bool) -> str:
    """Returns discs given away: a whole number, with ~ if it is an estimate."""
    return f"{'' if is_exact else '~'}{num_discs:.0f}"


def move(action: int | None, size: int) -> str:
    """Returns a move; "" for None."""
    return "" if action is None else notation.action_text(action, size)


def line(actions: Iterable[int], size: int) -> str:
    """Returns the first moves of a line."""
    return " ".join(notation.action_text(action, size) for action in tuple(actions)[:_LINE_MOVES])


def colour(board: notation.Board) -> str:
    """Returns the colour of the side to move."""
    return "black" if board.is_black_to_move else "white"


def title(game: variant.Variant) -> str:
    """Returns the name of a game without players, such as "Othello 8x8"."""
    return f"Othello {game.size}x{game.size}" + (", fewer discs win" if game.is_reversed else "")


def outlook(report: SearchReport, who: str, game: variant.Variant) -> str:
    """Returns the expected result for the side to move, which is called `who`."""
    if report.score is None and report.discs is None:
        return f"{who} has a chance of {chance(report.value)} to win"
    if report.score is None:
        return f"{who} expects {worth(report)}"
    black_score = report.score if report.board.is_black_to_move else -report.score
    return f"{outcome(black_score, game)} if both play perfectly (exact)"


def worth(report: SearchReport) -> str:
    """Returns the values of a position for the side to move."""
    expected, exact = discs(report.discs, report.score), " (exact)" * (report.score is not None)
    noun = "disc" if expected.lstrip("~") in ("+1", "-1") else "discs"
    return f"{expected} {noun}{exact}, " * bool(expected) + f"wins {chance(report.value)}"


def reason(report: SearchReport, who: str, game: variant.Variant) -> list[str]:
    """Returns lines that explain the choice of a move."""
    if report.source == "forced":
        return [f"{who} had no choice"]
    if report.source == "people":
        return [f"{who} moves like a human player"]
    if report.source == "book":
        return [f"{who} knows this opening from its book"]
    lines = [outlook(report, who, game)]
    if len(report.line) > 1:
        lines.append("expected: " + line(report.line, game.size))
    return lines


def move_table(
    report: SearchReport,
    game: variant.Variant,
    *,
    is_ascii: bool,
    max_moves: int | None = None,
    has_priors: bool = False,
    played: int | None = None,
) -> rich.table.Table:
    """Returns a table of the moves, best first, for the side to move; * marks the move `played`.

    A move without an exact score in a solved position is at most the best one.
    """
    bound = ("≤", "<=", "≥", ">=")[2 * game.is_reversed + is_ascii]
    rows = table("move", "discs>", "wins>", "visits>", *["prior>"] * has_priors, "expected")
    for each in report.moves[:max_moves]:
        is_bound = report.score is not None and each.score is None
        rows.add_row(
            move(each.action, game.size) + "*" * (each.action == played),
            f"{bound}{report.score:+d}" if is_bound else discs(each.discs, each.score),
            chance(each.value),
            str(each.visits or ""),
            *[f"{each.prior:.1%}"] * has_priors,
            line(each.line, game.size),
        )
    return rows


def outcome(black_score: int, game: variant.Variant, *, num_empties: int = 0) -> str:
    """Returns a final score, the winner's discs first: "37-27 to white".

    A note says that the score includes empty squares.
    """
    black = (game.size**2 + black_score) // 2
    white = game.size**2 - black
    if black == white:
        result = f"{black}-{white}, a draw"
    elif (black > white) != game.is_reversed:
        result = f"{black}-{white} to black"
    else:
        result = f"{white}-{black} to white"
    squares = "squares" if num_empties > 1 else "square"
    return f"{result}, {num_empties} empty {squares} included" if num_empties else result


def table(*columns: str) -> rich.table.Table:
    """Returns an empty table without lines; a column whose name ends in > is right-aligned."""
    rows = rich.table.Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    for column in columns:
        rows.add_column(column.rstrip(">"), justify="right" if column.endswith(">") else "left")
    return rows
