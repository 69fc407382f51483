"""Matches between two players: both games of each opening, many side by side.

Deterministic players repeat one game, so every game starts from uniformly random legal plies, or
from openings of a file. Each opening is played with both colours, so a lopsided opening favours
neither player.
"""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import jax

from azo.games import protocol
from azo.matches import elo
from azo.matches.tournament import backends, game_log, openings, rounds
from azo.process import memory
from azo.search import tree_size

_NAMES = ("first", "second")


def play_match(
    game: protocol.Game,
    first: backends.Contender,
    second: backends.Contender,
    key: jax.Array,
    **settings: Any,
) -> elo.MatchResult:
    """Returns the result of `play_games`, whose settings are by keyword."""
    (pairing,) = game_log.pairings(_NAMES, play_games(game, first, second, key, **settings))
    return pairing.result


def play_games(
    game: protocol.Game,
    first: backends.Contender,
    second: backends.Contender,
    key: jax.Array,
    *,
    num_games: int,
    opening_plies: int = 0,
    drawn: Sequence[openings.Opening] | None = None,
    rows: int | None = None,
    games_at_once: int | None = None,
    is_enough: Callable[[elo.MatchResult], bool] | None = None,
) -> list[game_log.PlayedGame]:
    """Plays a match; the same arguments give the same games, unless a program limits its time.

    Players that differ only in their arrays, such as the parameters of a network, share one
    compiled program, for batches of `rows`, by default half of those that are played at once.
    `drawn` has an opening for every two games, in place of random ones. Returns two games of each
    opening, `first` with black before white.

    `is_enough` ends the match early. It is called with the result so far after each pair, in the
    order of the openings, so that short games do not count before long ones. Games beyond the pair
    that was enough are left out.

    Raises:
      ValueError: An odd or too small `num_games`, more games than fit into the memory, or openings
        that decide the game.
      engine_protocols.EngineError: An engine fails at its start; one that fails later loses a game.
    """
    if num_games < 2 or num_games % 2:
        raise ValueError(f"num_games is {num_games}, but openings are played in pairs: 2, 4, ...")
    search = [getattr(player, "search_config", None) for player in (first, second)]
    simulations = max([one.num_simulations for one in search if one], default=0)
    at_once = min(games_at_once or num_games, num_games)
    size = tree_size.num_bytes(game, at_once, simulations)
    memory.check_fits("a match", {"num_games": size})
    opening_key, *player_keys = jax.random.split(key, 3)
    if drawn is None:
        drawn = openings.random(game, opening_key, count=num_games // 2, plies=opening_plies)
    schedule = [
        game_log.ScheduledGame(opening, *colours)
        for opening in range(num_games // 2)
        for colours in (_NAMES, _NAMES[::-1])
    ]
    contenders = {
        name: (player, int(jax.random.randint(player_key, (), 0, 2**31 - 1)))
        for name, player, player_key in zip(_NAMES, (first, second), player_keys, strict=True)
    }
    pairs = _Pairs(is_enough)
    with contextlib.suppress(_Enough):
        rounds.play(
            game,
            schedule,
            drawn,
            contenders,
            games_at_once=at_once,
            rows=rows or at_once // 2,
            on_end=pairs.add,
        )
    return pairs.games


class _Enough(Exception):
    """Ends a match that has been decided."""


class _Pairs:
    """The games of a match, in pairs of one opening and in the order of the openings."""

    def __init__(self, is_enough: Callable[[elo.MatchResult], bool] | None):
        self.games: list[game_log.PlayedGame] = []
        self._is_enough = is_enough
        self._result = elo.MatchResult(0, 0, 0, (0,) * 5)
        self._early: dict[int, list[game_log.PlayedGame]] = {}  # by opening

    def add(self, game: game_log.PlayedGame) -> None:
        """Adds a game that has ended; raises _Enough after the pair that decides the match."""
        self._early.setdefault(game.opening, []).append(game)
        while len(pair := self._early.get(len(self.games) // 2, [])) == 2:
            self.games += sorted(pair, key=lambda one: one.black)
            (pairing,) = game_log.pairings(_NAMES, pair)
            self._result += pairing.result
            if self._is_enough is not None and self._is_enough(self._result):
                raise _Enough
