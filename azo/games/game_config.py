"""Settings that choose a game. They need neither its rules nor JAX: `registry` makes the game."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import pydantic

from azo.games import notation, variant
from azo.settings import setting_types


class GameConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Settings of the game to learn."""

    name: Annotated[str, setting_types.known_or_import_path("othello", "tictactoe", "pgx:NAME")] = (
        setting_types.never("othello", is_common=True)
    )
    """Rules: othello, tictactoe, pgx:NAME for a game of Pgx, or MODULE:CLASS for your own game,
    which is in the current folder or installed."""
    size: Literal[4, 6, 8] = setting_types.never(8, is_common=True)
    """Rows and columns of an Othello board."""
    is_reversed: bool = setting_types.never(False)
    """Reversed Othello: the side with fewer discs wins."""
    start: str | None = setting_types.never(None)
    """Start position as text: size * size characters X, O and -, a space, and X or O for the side
    to move."""

    NEEDS: ClassVar[setting_types.Table] = {
        "size": (setting_types.needs("name", "othello"),),
        "is_reversed": (setting_types.needs("name", "othello"),),
        "start": (setting_types.needs("name", "othello"),),
    }
    FORMER_DEFAULTS: ClassVar[Mapping[str, Any]] = {"size": 6}


def variant_of(config: GameConfig) -> variant.Variant:
    """Returns the variant of Othello; raises ValueError if settings contradict."""
    if config.start is None:
        return variant.Variant(config.size, config.is_reversed)
    start = notation.parse_board(config.start, config.size)
    return variant.Variant(config.size, config.is_reversed, (start.player, start.opponent))
