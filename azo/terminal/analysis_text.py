"""A game analysis as tables for a terminal of 80 columns, and as sentences."""

from collections.abc import Iterable

import rich.table

from azo.coach import formatting, game_analysis
from azo.games import plurals, variant


def outcome(analysis: game_analysis.GameAnalysis) -> str:
    """Returns a sentence on the result of the game."""
    end = analysis.end
    if not end.is_over:
        return f"The game stops after {plurals.counted(len(end.actions), 'ply', 'plies')}."
    score, num_empties = end.final_score(), end.num_empties
    return formatting.outcome(score, analysis.game, num_empties=num_empties) + "."


FULL_WIDTH = 64  # columns of a terminal, for all columns of the table


def game_table(
    analysis: game_analysis.GameAnalysis, *, is_narrow: bool = False
) -> rich.table.Table:
    """Returns a table of the game, one row per move; `legend` explains its columns.

    A narrow one leaves out what the network and the search say of the move played.
    """
    size = analysis.game.size
    of_search = () if is_narrow else ("alone>", "prior>", "visits>")
    rows = formatting.table("ply>", "", "move", "discs>", "black>", *of_search, "best", "lost>", "")
    for position in analysis.positions:
        sign = 1 if position.board.is_black_to_move else -1
        played = next((move for move in position.moves if move.action == position.played), None)
        searched = (
            formatting.chance(position.raw_value and sign * position.raw_value),
            "" if played is None else f"{played.prior:.0%}",
            "" if played is None else str(played.visits),
        )
        rows.add_row(
            "end" if position.played is None else str(position.number),
            "" if position.played is None else "X" if sign == 1 else "O",
            formatting.move(position.played, size),
            formatting.discs(sign * position.discs, position.score and sign * position.score),
            formatting.chance(position.black_value),
            *searched[: len(of_search)],
            "" if position.best == position.played else formatting.move(position.best, size),
            formatting.lost(position.loss_discs, is_exact=position.is_loss_exact)
            if position.loss_discs
            else "",
            position.mark,
        )
    return rows


def legend(*, is_narrow: bool = False) -> str:
    """Returns the meaning of the columns of `game_table`."""
    of_search = (
        " alone: the same chance by the network, without search. prior, visits: of the move played."
    )
    marks = ", ".join(f"{mark} {least:.0f}" for least, _, mark in game_analysis.MARKS)
    return (
        "X black, O white. discs: black's expected final score before the move; ~ marks an"
        " estimate, a number without ~ is exact. black: black's chance of winning, by the search;"
        f" a draw is half a win.{of_search * (not is_narrow)} best: the engine's choice, if it"
        " differs. lost: discs given away."
        f" Marks, by minimum loss in discs: {marks} ({game_analysis.MARGIN:.0f} more if estimated);"
        " ?? also marks a move that changes the result."
    )


def summary(analysis: game_analysis.GameAnalysis, rating: int | None = None) -> Iterable[str]:
    """Yields lines on each side and the largest losses, and how players of a rating move there."""
    for name, is_black in (("Black", True), ("White", False)):
        side = analysis.summary(is_black=is_black)
        marks = ", ".join(f"{count} {mark}" for mark, count in side.num_marks.items())
        exact = side.exact_loss_discs
        total = f"{plurals.counted(round(side.loss_discs), 'disc')} lost"
        if side.loss_discs != exact:
            total = f"about {total}" + f", {exact:.0f} of them in solved positions" * (exact > 0)
        choices = plurals.counted(side.num_choices, "choice")
        yield f"{name}: accuracy {side.accuracy:.0%} of {choices}, {marks}; {total}."
    yield "Largest losses:" if analysis.losses else "No move lost anything."
    for position in analysis.losses:
        yield "  " + loss(position, analysis.game)
        yield from (f"      {reason.text}" for reason in analysis.reasons(position))
        if rating and position.people and position.played is not None:
            yield (
                f"      {position.chance(rating, [position.played]):.0%} of players rated {rating}"
                f" play it, and {position.difficulty(rating):.0%} lose 2 discs or more here."
            )


def loss(position: game_analysis.AnalysedPosition, game: variant.Variant) -> str:
    """Returns a sentence on a move that lost discs."""
    lost, is_exact = position.loss_discs or 0.0, position.is_loss_exact
    left = position.discs + (lost if game.is_reversed else -lost)
    before, after = (
        formatting.discs(x, round(x) if is_exact else None) for x in (position.discs, left)
    )
    played, best = (formatting.move(x, game.size) for x in (position.played, position.best))
    number = formatting.lost(lost, is_exact=is_exact)
    return (
        f"{position.number}. {formatting.colour(position.board)} {played}{position.mark}:"
        f" {number} disc{'s' * (round(lost) != 1)}{_result(position)}, from {before} to {after}"
        f" (better: {best})"
    )


def _result(position: game_analysis.AnalysedPosition) -> str:
    probably = "" if position.is_loss_exact else "probably "
    return f" and {probably}the result" if position.loses_result else ""
