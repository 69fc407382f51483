"""Made-up matches for runs."""

import pytest

from azo.matches import elo, run_matches


@pytest.fixture
def scores(monkeypatch):
    """Wins of 10 games of the matches to come, in a list to fill."""
    wins = []

    def match(*_):
        won = wins.pop(0)
        return elo.MatchResult(won, 0, 10 - won)

    monkeypatch.setattr(run_matches.RunMatches, "match", match)
    return wins
