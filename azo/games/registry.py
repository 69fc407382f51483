"""The games that azo knows, and the settings that choose one. Only `make` imports JAX."""

import functools
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import pydantic

from azo.games import notation, variant
from azo.settings import import_paths, setting_types

if TYPE_CHECKING:
    from azo.games import protocol


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


def make(config: GameConfig) -> "protocol.Game":
    """Returns the rules of the configured game.

    Equal settings give the same game, also of a class without equality, until a class is defined
    again.

    Raises:
      ValueError: One line: settings contradict, or there is no such game.
    """
    if config.name == "othello":
        from azo.games import othello  # imports JAX, which takes seconds

        described = variant_of(config)
        rules = described.size, described.is_reversed, described.start_bits
        return _make(_Source(othello.Othello), rules)
    if config.start is not None or config.is_reversed:
        raise ValueError("[game]: 'start' and 'is_reversed' apply only to Othello")
    if config.name == "tictactoe":
        from azo.games import tictactoe

        return _make(_Source(tictactoe.TicTacToe))
    source, _, name = config.name.partition(":")
    if source == "pgx":  # by name, since few runs need it
        return _make(_Source(importlib.import_module("azo.games.pgx_games").make), (name,))
    found = import_paths.load("game.name", config.name)
    return _checked(_Source(found), config.name)


class _Source:
    """A class or a game as the key of a cache: one that was defined again is another one."""

    def __init__(self, found: Any):
        self.found = found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Source) and self.found is other.found

    def __hash__(self) -> int:
        return id(self.found)


@functools.lru_cache
def _make(source: _Source, arguments: tuple[Any, ...] = ()) -> "protocol.Game":
    return source.found(*arguments)


@functools.lru_cache
def _checked(source: _Source, path: str) -> "protocol.Game":
    """Returns the game that an import path names, or an instance of the class that it names."""
    from azo.games import protocol

    found, place = source.found, f"game.name is {path!r}, but"
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    try:
        game = found() if isinstance(found, type) and not missing else found
    except TypeError as error:
        raise ValueError(f"{place} {error}: a game is made without arguments") from error
    if missing := missing or protocol.missing_members(game):
        raise ValueError(
            f"{place} it is no game, which has {', '.join(missing)}: docs/extend.md says what"
            " azo.Game needs"
        )
    return game
