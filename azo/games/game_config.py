"""Settings that choose a game, and the variant of Othello that they describe."""

from typing import Annotated, Literal

import pydantic

from azo.games import notation, variant


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


def variant_of(config: GameConfig) -> variant.Variant:
    """Returns the variant of Othello; raises ValueError if settings contradict."""
    if config.start is None:
        return variant.Variant(config.size, config.is_reversed)
    start = notation.parse_board(config.start, config.size)
    return variant.Variant(config.size, config.is_reversed, (start.player, start.opponent))
