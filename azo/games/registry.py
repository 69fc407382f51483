"""The games that azo knows, and the settings that choose one. Only `make` imports JAX."""

from typing import TYPE_CHECKING, Literal

import pydantic

from azo.games import notation, variant

if TYPE_CHECKING:
    from azo.games import protocol


class GameConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Settings of the game to learn."""

    name: Literal["othello", "tictactoe"] = "othello"
    """Name of the rules."""
    size: Literal[4, 6, 8] = 6
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


def make(config: GameConfig) -> "protocol.Game":
    """Returns the rules of the configured game; raises ValueError if settings contradict."""
    from azo.games import othello, tictactoe  # import JAX, which takes seconds

    if config.name == "tictactoe":
        if config.start is not None or config.is_reversed:
            raise ValueError("[game]: 'start' and 'is_reversed' apply only to Othello")
        return tictactoe.TicTacToe()
    assert config.name == "othello"
    described = variant_of(config)
    return othello.Othello(described.size, described.is_reversed, described.start_bits)
