"""What the page and the server say to one another, as JSON.

Moves are text ("f5", "pass"), boards `size * size` characters row by row (`X` black, `O` white, `-`
empty). Values and scores of a thought are for the side to move, as everywhere in azo; margins are
black's discs minus white's.
"""

from typing import Annotated, Any, Literal

import pydantic

from azo.games import notation
from azo.play import search_report
from azo.play.web import web_game

MAX_TEXT = 60_000


class ReadRequest(pydantic.BaseModel, frozen=True, extra="forbid"):
    """A text that someone pasted, to be read as a game."""

    game: Annotated[str, pydantic.Field(max_length=40)]
    """Which game it is, unless the text says so."""
    text: Annotated[str, pydantic.Field(max_length=MAX_TEXT)]


class GameRequest(pydantic.BaseModel, frozen=True, extra="forbid"):
    """A game as the page knows it."""

    game: Annotated[str, pydantic.Field(max_length=40)]
    start: Annotated[str, pydantic.Field(max_length=80)] | None = None
    """The start position and the mover; None: the usual one."""
    moves: Annotated[str, pydantic.Field(max_length=600)] = ""


class ThinkRequest(GameRequest, frozen=True, extra="forbid"):
    """A game, and how to think about its last position."""

    session: Annotated[str, pydantic.Field(pattern="^[0-9a-f]{16,64}$")]
    """Chosen by the page at random: trees are kept, and searches replaced, by session."""
    role: Literal["play", "advise"]
    """Choose a move at a level, or analyse at full strength."""
    level: pydantic.PositiveInt = 1
    """With "play"."""
    num_simulations: pydantic.PositiveInt = 400
    """With "advise"."""
    seconds: pydantic.PositiveFloat = 10.0


def game_json(played: web_game.WebGame, note: str = "") -> dict[str, Any]:
    """Returns a game with what is legal and what counts at every ply."""
    size = played.game.size
    return {
        "game": played.game.name,
        "start": notation.board_text(played.boards[0], size) if played.has_own_start else None,
        "moves": [notation.action_text(action, size) for action in played.actions],
        "plies": [
            {
                "board": notation.board_text(board, size).split()[0],
                "mover": "black" if board.is_black_to_move else "white",
                "legal": [notation.action_text(action, size) for action in legal],
            }
            for board, legal in zip(played.boards, played.legal_actions, strict=True)
        ],
        "is_over": played.is_over,
        "margin": played.final_margin,
        "note": note,
    }


def thought_json(thought: search_report.SearchReport, size: int) -> dict[str, Any]:
    """Returns what the engine thinks of a position."""

    def text(action: int) -> str:
        return notation.action_text(action, size)

    return {
        "move": text(thought.action),
        "value": _rounded(thought.value),
        "raw_value": _rounded(thought.raw_value),
        "score": thought.score,
        "source": thought.source,
        "num_simulations": thought.num_simulations,
        "seconds": _rounded(thought.seconds),
        "moves": [
            {
                "move": text(move.action),
                "visits": move.visits,
                "prior": _rounded(move.prior),
                "value": _rounded(move.value),
                "score": move.score,
                "line": [text(action) for action in move.line],
            }
            for move in thought.moves
        ],
    }


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(float(number), 4)
