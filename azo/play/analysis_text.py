"""A game analysis as tables for a terminal of 80 columns, as sentences, and as JSON."""

from collections.abc import Iterable
from typing import Any

import rich.table

from azo.games import notation
from azo.play import formatting, game_analysis, search_report


def outcome(analysis: game_analysis.GameAnalysis) -> str:
    """Returns a sentence on the result of the game."""
    if not analysis.is_over:
        return f"The game stops after {len(analysis.actions)} plies."
    result = formatting.outcome(analysis.black_score, analysis.game)
    return result[0].upper() + result[1:] + "."


def game_table(analysis: game_analysis.GameAnalysis) -> rich.table.Table:
    """Returns a table of the game, one row a move; `legend` explains its columns."""
    size = analysis.game.size
    notes = {position.number: "?" for position in analysis.drops}
    rows = formatting.table(
        *("ply>", "", "move", "black>", "discs>", "alone>", "prior>", "visits>", "best"),
        *("loss>", "lost>", ""),
    )
    for position in analysis.positions:
        played = position.report_of(position.played)
        rows.add_row(
            str(position.number) if position.played is not None else "end",
            "" if position.played is None else "X" if position.board.is_black_to_move else "O",
            formatting.move(position.played, size),
            formatting.chance(position.black_value),
            formatting.discs(position.black_discs, position.black_score),
            formatting.chance(position.black_raw_value),
            "" if played is None else f"{played.prior:.0%}",
            "" if played is None else str(played.visits),
            "" if position.best == position.played else formatting.move(position.best, size),
            f"{position.loss:.2f}" if position.loss and position.loss >= 0.005 else "",
            str(position.loss_discs) if position.loss_discs else "",
            notes.get(position.number, ""),
        )
    return rows


def legend(analysis: game_analysis.GameAnalysis) -> str:
    """Returns the meaning of the columns of `game_table`."""
    return (
        "X black, O white. black: chance that black wins, before the move, after the search; a draw"
        " is half a win. discs: black's expected final score; a whole number is exact. alone: the"
        " chance by the network without search. prior, visits: of the move played. best: the"
        " engine's choice, if it differs. loss: in expected result, from 0 to 2; lost: in discs,"
        " where both positions are solved."
        f" ?: one of the {len(analysis.drops)} largest drops."
    )


def summary(analysis: game_analysis.GameAnalysis) -> Iterable[str]:
    """Yields lines on losses and the largest drops."""
    size = analysis.game.size
    yield totals(analysis)
    yield "Largest drops of the value:" if analysis.drops else "No move lost anything."
    for position in analysis.drops:
        yield "  " + drop(position, size)


def totals(analysis: game_analysis.GameAnalysis) -> str:
    """Returns a sentence on the losses of each side."""
    parts = []
    for name, is_black in (("Black's", True), ("white's", False)):
        loss, discs = analysis.total_loss(is_black=is_black)
        moves = sum(
            p.played is not None and len(p.moves) > 1 and p.board.is_black_to_move == is_black
            for p in analysis.positions
        )
        parts.append(f"{name} {moves} choices lost {loss:.2f} and, where solved, {discs} discs")
    return "; ".join(parts) + "."


def drop(position: game_analysis.AnalysedPosition, size: int) -> str:
    """Returns a sentence on a move after which the value was lower."""
    assert position.drop is not None
    is_best = position.played == position.best
    remark = "the engine's choice" if is_best else f"better: {formatting.move(position.best, size)}"
    discs = f", {position.loss_discs} discs" if position.loss_discs else ""
    return (
        f"{heading(position, size)}: from {position.value:+z.2f} to"
        f" {position.value - position.drop:+z.2f}{discs} ({remark})"
    )


def heading(position: game_analysis.AnalysedPosition, size: int) -> str:
    """Returns the number, the colour and the move of a position."""
    if position.played is None:
        return f"{position.number}. the last position"
    move = formatting.move(position.played, size)
    return f"{position.number}. {formatting.colour(position.board)} {move}"


def worth(position: game_analysis.AnalysedPosition) -> str:
    """Returns the values of a position for the side to move."""
    discs = formatting.discs(position.discs, position.score)
    exact = " (exact)" if position.score is not None else ""
    alone = ""
    if position.raw_value is not None:
        alone = f"; network alone {formatting.chance(position.raw_value)}"
    return f"wins {formatting.chance(position.value)}, {discs} discs{exact}{alone}"


def move_table(position: game_analysis.AnalysedPosition, size: int) -> rich.table.Table:
    """Returns a table of the legal moves, best first; * marks the move played."""
    rows = formatting.table("move", "wins>", "discs>", "visits>", "prior>", "line")
    for move in position.moves:
        rows.add_row(
            formatting.move(move.action, size) + "*" * (move.action == position.played),
            formatting.chance(move.value),
            formatting.discs(move.discs, move.score),
            str(move.visits),
            f"{move.prior:.1%}",
            formatting.line(move.line, size),
        )
    return rows


def to_json(analysis: game_analysis.GameAnalysis, title: str) -> dict[str, Any]:
    """Returns the analysis for JSON; values are the mover's unless named black's."""
    size = analysis.game.size
    return {
        "title": title,
        "game": analysis.game.name,
        "start": notation.board_text(analysis.positions[0].board, size),
        "moves": notation.transcript(analysis.actions, size, has_passes=True),
        "is_over": analysis.is_over,
        "black_score": analysis.black_score,
        "engine": analysis.engine_config.model_dump(),
        "settings": analysis.config.model_dump(),
        "positions": [_position_json(position, size) for position in analysis.positions],
        "largest_drops": [position.number for position in analysis.drops],
    }


def _position_json(position: game_analysis.AnalysedPosition, size: int) -> dict[str, Any]:
    names = ("value", "raw_value", "black_value", "discs", "score", "drop", "loss", "loss_discs")
    return {
        "ply": position.number,
        "board": notation.board_text(position.board, size),
        **{name: getattr(position, name) for name in names},
        "best": formatting.move(position.best, size) or None,
        "played": formatting.move(position.played, size) or None,
        "moves": [search_report.move_json(move, size) for move in position.moves],
    }
