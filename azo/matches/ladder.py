"""The fixed ladders: players of Othello whose Elo was measured once, and stays.

Elo on the ladder can be compared between runs and over time, since no rating of another player
moves it. On 8x8 `patterns:2` is 0, on 6x6 `alphabeta:4`. The ratings are those of `azo tournament
ladder` and `ladder6`: docs/notebook/classical.md has the tables.
"""

from collections.abc import Mapping

from azo.games import othello, protocol
from azo.matches import elo

RATINGS: Mapping[int, Mapping[str, float]] = {
    8: {
        "random": -990.0,
        "greedy": -906.0,
        "iagno:medium": -705.0,
        "iagno:hard": -309.0,
        "alphabeta:4": -101.0,
        "gtp-rhino:2": -84.0,
        "patterns:2": 0.0,
        "gtp-rhino:3": 119.0,
        "patterns:4": 299.0,
        "patterns:6": 531.0,
        "patterns:8": 669.0,
        "patterns:10": 796.0,
    },
    6: {
        "random": -643.0,
        "alphabeta:1": -265.0,
        "alphabeta:2": -139.0,
        "alphabeta:4": 0.0,
        "alphabeta:6": 89.0,
        "alphabeta:8": 181.0,
        "alphabeta:10": 277.0,
    },
}
"""Elo by the size of the board and the player's name, as for `azo evaluate`; weakest first."""
NAME = "network"
"""The name of the rated network in all matches."""
Results = Mapping[str, elo.MatchResult]
"""Results of the network by the opponent's name on the ladder."""


def of_game(game: protocol.Game) -> Mapping[str, float]:
    """Returns the ladder of a game, weakest player first; empty for a game without one."""
    size = game.board_shape[0]
    return RATINGS[size] if size in RATINGS and game == othello.Othello(size) else {}


def neighbours(ladder: Mapping[str, float], rating: float) -> tuple[str | None, str | None]:
    """Returns the strongest player below a rating and the weakest above it, None without one."""
    below = [name for name, known in ladder.items() if known <= rating]
    above = [name for name, known in ladder.items() if known > rating]
    return (below[-1] if below else None), (above[0] if above else None)


def rate_network(results: Results, ladder: Mapping[str, float] = RATINGS[8]) -> elo.Standing:
    """Returns the rating of a network by its results on a ladder."""
    pairings = [elo.Pairing(NAME, name, result) for name, result in results.items()]
    rated = elo.rate(pairings, known=ladder)
    return next(one for one in rated.standings if one.name == NAME)
