"""JSON messages between the page and the server.

Moves are text ("f5", "pass"), boards `size * size` characters row by row (`X` black, `O` white, `-`
empty). Values and scores of a report are for the side to move; margins are black's discs minus
white's.
"""

from typing import Annotated, Any, Literal

import pydantic

from azo.games import notation, setting_types, variant
from azo.games.host import live_game
from azo.play.engine import engine_settings, search_report

MAX_TEXT = 60_000
MAX_SIMULATIONS, MAX_SECONDS = 20_000, 30.0  # of one search


class ReadRequest(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Pasted text, to be read as a game."""

    game: Annotated[str, pydantic.Field(max_length=40)]
    """Name of the game, unless the text says it."""
    text: Annotated[str, pydantic.Field(max_length=MAX_TEXT)]
    number: setting_types.PositiveInt = 1
    """Which game of the text."""


class GameRequest(pydantic.BaseModel, frozen=True, extra="forbid"):
    """A game and its moves."""

    game: Annotated[str, pydantic.Field(max_length=40)]
    start: Annotated[str, pydantic.Field(max_length=80)] | None = None
    """The start position and the side to move; None: the usual start."""
    moves: Annotated[str, pydantic.Field(max_length=600)] = ""


class ThinkRequest(GameRequest, frozen=True, extra="forbid"):
    """A game, and the search of its last position."""

    session: Annotated[str, pydantic.Field(pattern="^[0-9a-f]{16,64}$")]
    """Random name of the page; a page has its own trees, and one search at a time."""
    role: Literal["play", "advise", "solve"]
    """Choose a move at a level, analyse at full strength, or solve; the last goes on where the
    request before has ended."""
    level: Annotated[int, pydantic.Field(ge=1, le=engine_settings.NUM_LEVELS)] = 1
    """Level of "play"."""
    num_simulations: Annotated[int, pydantic.Field(ge=1, le=MAX_SIMULATIONS)] = 400
    """Simulations of "advise"."""
    seconds: Annotated[float, pydantic.Field(gt=0, le=MAX_SECONDS)] = 10.0


def offer_json(game: variant.Variant, network: str) -> dict[str, Any]:
    """Returns a game that the page offers, and the name of its network."""
    return {
        "name": game.name,
        "size": game.size,
        "is_reversed": game.is_reversed,
        "network": network,
    }


def game_json(
    game: live_game.LiveGame, note: str = "", players: tuple[str, str] = ("", "")
) -> dict[str, Any]:
    """Returns a game with the board and the legal moves at every ply.

    `players` are the names of black and white, "" if unknown.
    """
    size = game.game.size

    def texts(actions: tuple[int, ...]) -> list[str]:
        return [notation.action_text(action, size) for action in actions]

    return {
        "game": game.game.name,
        "start": None if game.has_usual_start else notation.board_text(game.start, size),
        "moves": texts(game.actions),
        "plies": [
            {
                "board": notation.board_text(board, size).split()[0],
                "mover": "black" if board.is_black_to_move else "white",
                "legal": texts(game.legal_actions_at(board)),
            }
            for board in game.boards
        ],
        "is_over": game.is_over,
        "margin": game.final_score(),
        "note": note,
        "players": dict(zip(("black", "white"), players, strict=True)),
    }


def report_json(report: search_report.SearchReport, size: int) -> dict[str, Any]:
    """Returns a search report with moves as text."""
    names = (
        *("value", "raw_value", "discs", "score", "source", "num_simulations"),
        *("seconds", "seconds_left"),
    )
    return {
        "move": notation.action_text(report.action, size),
        **{name: getattr(report, name) for name in names},
        "moves": [search_report.move_json(move, size) for move in report.moves],
    }
