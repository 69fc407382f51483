"""The games that azo knows, and the settings that choose one."""

from typing import Annotated, Literal

import pydantic

from azo.games import notation, othello, protocol, tictactoe


class GameConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Settings of the game to learn."""

    name: Literal["othello", "tictactoe"] = "othello"
    """Name of the rules."""
    size: Annotated[int, pydantic.Field(ge=4, le=8)] = 6
    """Rows and columns of an Othello board."""
    is_reversed: bool = False
    """Reversed Othello: the side with fewer discs wins."""
    start: str | None = None
    """Start position as text, size * size characters of X, O and -, then a space and the mover."""


def make(config: GameConfig) -> protocol.Game:
    """Returns the rules of the configured game; raises ValueError if settings contradict."""
    if config.name == "tictactoe":
        if config.start is not None or config.is_reversed:
            raise ValueError("[game]: 'start' and 'is_reversed' apply only to Othello")
        return tictactoe.TicTacToe()
    if config.start is None:
        return othello.Othello(config.size, config.is_reversed)
    start = notation.parse_board(config.start, config.size)
    return othello.Othello(config.size, config.is_reversed, (start.player, start.opponent))
