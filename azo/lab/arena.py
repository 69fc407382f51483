"""Matches between two players: both games of each opening, all side by side.

Deterministic players repeat one game, so every game starts from uniformly random legal plies, or
from openings of a file. Each opening is played with both colours, so a lopsided opening favours
neither player.
"""

import dataclasses
import math
import operator
from collections.abc import Sequence
from typing import Annotated, Any

import jax
import pydantic

from azo.games import protocol, setting_types
from azo.lab.tournament import backends, game_log, openings, rounds, standings
from azo.training import checks

_NAMES = ("first", "second")

_PairScores = Annotated[tuple[setting_types.Count, ...], pydantic.Field(min_length=5, max_length=5)]
_Z95 = 1.959963984540054  # 97.5 % quantile of the normal distribution


@dataclasses.dataclass(frozen=True)
class MatchResult:
    """Games won, drawn and lost by the first player."""

    wins: setting_types.Count
    draws: setting_types.Count
    losses: setting_types.Count
    pair_scores: _PairScores | None = dataclasses.field(default=None, kw_only=True)
    """Number of openings whose two games gave the first player 0, 1/2, 1, 3/2 and 2 points."""

    def __add__(self, other: "MatchResult") -> "MatchResult":
        """Returns the result of all games of two matches of the same players."""
        pair_scores = None
        if self.pair_scores is not None and other.pair_scores is not None:
            pair_scores = tuple(map(operator.add, self.pair_scores, other.pair_scores))
        return MatchResult(
            self.wins + other.wins,
            self.draws + other.draws,
            self.losses + other.losses,
            pair_scores=pair_scores,
        )

    @property
    def num_games(self) -> int:
        """All games."""
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """Points per game: 1 for a win, 1/2 for a draw."""
        return (self.wins + self.draws / 2) / self.num_games

    def interval(self) -> tuple[float, float]:
        """Returns the 95 % Wilson interval of the score (Wilson, 1927, JASA 22:209-212).

        A draw counts as half a win and half a loss, so many draws make the interval a little too
        wide. All games count as independent. The two games of an opening are not quite, and equal
        openings between deterministic players repeat a game. So the interval is too narrow if there
        are more games than distinct openings.
        """
        n, p = self.num_games, self.score
        centre = p + _Z95**2 / (2 * n)
        spread = _Z95 * math.sqrt(p * (1 - p) / n + _Z95**2 / (4 * n**2))
        scale = 1 + _Z95**2 / n
        return max((centre - spread) / scale, 0.0), min((centre + spread) / scale, 1.0)

    def __str__(self) -> str:
        low, high = self.interval()
        return (
            f"{self.wins}/{self.draws}/{self.losses} "
            f"(score {self.score:.3f}, 95 % {low:.2f} to {high:.2f})"
        )


def play_match(
    game: protocol.Game,
    first: backends.Contender,
    second: backends.Contender,
    key: jax.Array,
    **settings: Any,
) -> MatchResult:
    """Returns the result of `play_games`, whose settings are by keyword."""
    (one,) = standings.pairings(_NAMES, play_games(game, first, second, key, **settings))
    return MatchResult(one.wins, one.draws, one.losses, pair_scores=one.pair_scores)


def play_games(
    game: protocol.Game,
    first: backends.Contender,
    second: backends.Contender,
    key: jax.Array,
    *,
    num_games: int,
    opening_plies: int,
    drawn: Sequence[openings.Opening] | None = None,
) -> list[game_log.PlayedGame]:
    """Plays a match; the same arguments give the same games, unless a program limits its time.

    Players that differ only in their arrays, such as the parameters of a network, share one
    compiled program. `drawn` has an opening for every two games, in place of random ones. Returns
    two games of each opening, `first` with black before white.

    Raises:
      ValueError: An odd or too small `num_games`, more games than fit into the memory, or openings
        that decide the game.
      engine_protocols.EngineError: An engine fails at its start; one that fails later loses a game.
    """
    if num_games < 2 or num_games % 2:
        raise ValueError(f"num_games is {num_games}, but openings are played in pairs: 2, 4, ...")
    search = [getattr(player, "search_config", None) for player in (first, second)]
    simulations = max([one.num_simulations for one in search if one], default=0)
    checks.check_fits("a match", {"num_games": checks.tree_bytes(num_games, simulations)})
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
    played: list[game_log.PlayedGame] = []
    rounds.play(
        game,
        schedule,
        drawn,
        contenders,
        games_at_once=num_games,
        min_rows=num_games // 2,
        on_end=played.append,
    )
    return sorted(played, key=lambda one: (one.opening, one.black))
