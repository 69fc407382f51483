"""The fixed ladder: players on 8x8 whose Elo was measured once, and stays.

Elo on the ladder can be compared between runs and over time, since no rating of another player
moves it. `patterns:2` is 0. The ratings are those of `azo tournament ladder --num-games 128`:
docs/classical.md has the table.
"""

from collections.abc import Sequence

from azo.games import registry
from azo.measure import elo

GAME = registry.GameConfig(size=8)
"""The game of the ladder."""
RATINGS = {
    "patterns:2": 0.0,
    "patterns:4": 299.0,
    "patterns:6": 531.0,
    "patterns:8": 669.0,
    "patterns:10": 796.0,
}
"""Elo by the player's name, as for `azo evaluate`."""
ANCHOR = "patterns:2"
"""The player whose Elo is 0."""


def rate(pairings: Sequence[elo.Pairing], anchor: str) -> elo.Ratings:
    """Returns ratings on the scale of the ladder if one of its players takes part.

    Otherwise the rating of `anchor` is 0.
    """
    names = {name for pairing in pairings for name in (pairing.first, pairing.second)}
    if names & RATINGS.keys():
        return elo.rate(pairings, known=RATINGS)
    return elo.rate(pairings, anchor=anchor)
