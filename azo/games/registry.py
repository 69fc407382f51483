"""The games that azo knows: each is made from its settings, see `game_config`."""

import functools
import importlib
from typing import Any

from azo.games import game_config, othello, protocol, tictactoe
from azo.settings import import_paths


def make(config: game_config.GameConfig) -> protocol.Game:
    """Returns the rules of the configured game.

    Equal settings give the same game, also of a class without equality, until a class is defined
    again.

    Raises:
      ValueError: One line: settings contradict, or there is no such game.
    """
    if config.name == "othello":
        described = game_config.variant_of(config)
        rules = described.size, described.is_reversed, described.start_bits
        return _make(_Source(othello.Othello), rules)
    if config.start is not None or config.is_reversed:
        raise ValueError("[game]: 'start' and 'is_reversed' apply only to Othello")
    if config.name == "tictactoe":
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
def _make(source: _Source, arguments: tuple[Any, ...] = ()) -> protocol.Game:
    return source.found(*arguments)


@functools.lru_cache
def _checked(source: _Source, path: str) -> protocol.Game:
    """Returns the game that an import path names, or an instance of the class that it names."""
    found, place = source.found, f"game.name is {path!r}, but"
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    try:
        game = found() if isinstance(found, type) and not missing else found
    except TypeError as error:
        raise ValueError(f"{place} {error}: a game is made without arguments") from error
    if missing := missing or protocol.missing_members(game):
        raise ValueError(
            f"{place} it is not a game, which would have {', '.join(missing)}: docs/extend.md says"
            " what azo.Game needs"
        )
    return game
