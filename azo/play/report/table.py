"""An analysis in a terminal of 80 columns: the game move by move, or one position in detail."""

from collections.abc import Iterable

import rich.console
import rich.table
import rich.tree

from azo.games import notation
from azo.play import game_analysis, search_report

_LINE_MOVES = 6


def game(analysis: game_analysis.GameAnalysis) -> rich.table.Table:
    """Returns one row a move; `black` is the value before it as black sees it."""
    size = analysis.game.size
    notes = {surprise.number: "!" for surprise in analysis.surprises}
    notes |= {p.number: "?" + notes.get(p.number, "") for p in analysis.drops}
    table = rich.table.Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    for name in ("ply", "", "move", "black", "alone", "exact", "prior", "visits", "best"):
        table.add_column(name, justify="left" if name in ("", "move", "best") else "right")
    for name in ("loss", "discs"):
        table.add_column(name, justify="right")
    table.add_column("")
    for position in analysis.positions:
        played = position.thought_of(position.played)
        table.add_row(
            str(position.number) if position.played is not None else "end",
            "" if position.played is None else "X" if position.board.is_black_to_move else "O",
            move_text(position.played, size),
            f"{position.black_value:+z.2f}",
            signed(position.black_raw_value),
            "" if position.black_score is None else f"{position.black_score:+d}",
            "" if played is None else f"{played.prior:.0%}",
            "" if played is None else str(played.visits),
            "" if position.best == position.played else move_text(position.best, size),
            f"{position.loss:.2f}" if position.loss and position.loss >= 0.005 else "",
            str(position.loss_discs) if position.loss_discs else "",
            notes.get(position.number, ""),
        )
    return table


def legend(analysis: game_analysis.GameAnalysis) -> str:
    """Returns what the columns of `game` mean."""
    return (
        "X black, O white. black: expected result for black before the move, from -1 to 1, by the"
        " search; alone: by the network without a search; exact: black's final margin under perfect"
        " play. prior and visits are those of the move played, best is the engine's choice if"
        " another; loss is in expected result, discs where both positions are solved. ? is one of"
        f" the {len(analysis.drops)} largest drops, ! a surprise."
    )


def summary(analysis: game_analysis.GameAnalysis) -> Iterable[str]:
    """Yields lines on losses, the largest drops and surprises."""
    size = analysis.game.size
    yield totals(analysis)
    yield "Largest drops of the value with a move:" if analysis.drops else "No move lost anything."
    for position in analysis.drops:
        yield "  " + drop_text(position, size)
    if analysis.surprises:
        yield "Surprises:"
    for surprise in analysis.surprises:
        yield "  " + surprise_text(surprise, analysis)
    yield game_analysis.advice(analysis)


def totals(analysis: game_analysis.GameAnalysis) -> str:
    """Returns a sentence on what each side gave away."""
    parts = []
    for name, is_black in (("Black's", True), ("white's", False)):
        loss, discs = analysis.total_loss(is_black=is_black)
        moves = sum(
            p.played is not None and len(p.moves) > 1 and p.board.is_black_to_move == is_black
            for p in analysis.positions
        )
        parts.append(f"{name} choices ({moves}) lost {loss:.2f} and, where solved, {discs} discs")
    return "; ".join(parts) + "."


def drop_text(position: game_analysis.AnalysedPosition, size: int) -> str:
    """Returns a sentence on a move after which the value was lower."""
    assert position.drop is not None
    colour = "black" if position.board.is_black_to_move else "white"
    is_best = position.played == position.best
    remark = "expected otherwise" if is_best else f"better {move_text(position.best, size)}"
    discs = f", {position.loss_discs} discs" if position.loss_discs else ""
    return (
        f"{position.number}. {colour} {move_text(position.played, size)}:"
        f" {position.value:+z.2f} became {position.value - position.drop:+z.2f}{discs}"
        f" ({remark})"
    )


def surprise_text(surprise: game_analysis.Surprise, analysis: game_analysis.GameAnalysis) -> str:
    """Returns a sentence on a surprise."""
    size = analysis.game.size
    is_black = analysis.positions[surprise.number - 1].board.is_black_to_move
    move, rival = (move_text(action, size) for action in (surprise.action, surprise.rival))
    told = {
        "found": f"the network's favourite, {rival},",
        "missed": f"{rival}, the search's choice,",
    }[surprise.kind]
    return (
        f"{surprise.number}. {'black' if is_black else 'white'} {move}"
        f"{' (played)' if surprise.kind == 'missed' else ''}: prior {surprise.prior:.1%}, worth"
        f" {surprise.value:+z.2f}; {told} {surprise.rival_value:+z.2f}"
    )


def worth_text(position: game_analysis.AnalysedPosition) -> str:
    """Returns what a position is worth to the side to move."""
    exact = "" if position.score is None else f", exact {position.score:+d}"
    alone = "" if position.raw_value is None else f"; network alone {signed(position.raw_value)}"
    return f"value {signed(position.value)}{exact}{alone}"


def moves(position: game_analysis.AnalysedPosition, size: int) -> rich.table.Table:
    """Returns one row for each legal move of a position, best first, from the mover's side."""
    table = rich.table.Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    for name in ("move", "value", "exact", "visits", "prior", "line"):
        table.add_column(name, justify="left" if name in ("move", "line") else "right")
    for move in position.moves:
        marks = "*" * (move.action == position.played)
        table.add_row(
            move_text(move.action, size) + marks,
            signed(move.value),
            "" if move.score is None else f"{move.score:+d}",
            str(move.visits),
            f"{move.prior:.1%}",
            line_text(move.line, size),
        )
    return table


def tree(position: game_analysis.AnalysedPosition, size: int) -> rich.tree.Tree:
    """Returns the most visited moves of the searched tree, each seen by whoever makes it."""
    root = rich.tree.Tree(f"searched tree behind ply {position.number - 1}")

    def add(parent: rich.tree.Tree, branch: game_analysis.AnalysedBranch) -> None:
        node = parent.add(branch_text(branch.move, size))
        for reply in branch.replies:
            add(node, reply)

    for branch in position.tree:
        add(root, branch)
    return root


def branch_text(move: search_report.MoveReport, size: int) -> str:
    """Returns a move of the tree with its figures."""
    exact = "" if move.score is None else f", exact {move.score:+d}"
    return (
        f"{move_text(move.action, size)}  {signed(move.value)}, {move.visits} visits,"
        f" prior {move.prior:.1%}{exact}"
    )


def line_text(line: Iterable[int], size: int) -> str:
    """Returns the first moves of a line."""
    return " ".join(notation.action_text(action, size) for action in tuple(line)[:_LINE_MOVES])


def move_text(action: int | None, size: int) -> str:
    """Returns a move, or nothing for none."""
    return "" if action is None else notation.action_text(action, size)


def signed(value: float | None) -> str:
    """Returns a value with its sign, or nothing for none."""
    return "" if value is None else f"{value:+z.2f}"
