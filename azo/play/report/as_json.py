"""An analysis as plain data, for JSON: names in full, moves as text, colours where it says so."""

from typing import Any

from azo.games import notation
from azo.play import game_analysis, search_report


def convert(analysis: game_analysis.GameAnalysis, title: str) -> dict[str, Any]:
    """Returns lists, dicts, strings and numbers; values are the mover's unless named black's."""
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
        "positions": [_position(position, size) for position in analysis.positions],
        "largest_drops": [position.number for position in analysis.drops],
        "surprises": [_surprise(surprise, size) for surprise in analysis.surprises],
        "advice": game_analysis.advice(analysis),
    }


def _position(position: game_analysis.AnalysedPosition, size: int) -> dict[str, Any]:
    return {
        "ply": position.number,
        "board": notation.board_text(position.board, size),
        "value": position.value,
        "raw_value": position.raw_value,
        "black_value": position.black_value,
        "score": position.score,
        "best": _text(position.best, size),
        "played": _text(position.played, size),
        "drop": position.drop,
        "loss": position.loss,
        "loss_discs": position.loss_discs,
        "moves": [_move(move, size) for move in position.moves],
        "tree": [_branch(branch, size) for branch in position.tree],
    }


def _move(move: search_report.MoveReport, size: int) -> dict[str, Any]:
    return {
        "move": _text(move.action, size),
        "visits": move.visits,
        "prior": move.prior,
        "value": move.value,
        "score": move.score,
        "line": [_text(action, size) for action in move.line],
    }


def _branch(branch: game_analysis.AnalysedBranch, size: int) -> dict[str, Any]:
    replies = [_branch(reply, size) for reply in branch.replies]
    return _move(branch.move, size) | {"replies": replies}


def _surprise(surprise: game_analysis.Surprise, size: int) -> dict[str, Any]:
    return {
        "ply": surprise.number,
        "move": _text(surprise.action, size),
        "prior": surprise.prior,
        "value": surprise.value,
        "rival": _text(surprise.rival, size),
        "rival_value": surprise.rival_value,
        "kind": surprise.kind,
    }


def _text(action: int | None, size: int) -> str | None:
    return None if action is None else notation.action_text(action, size)
