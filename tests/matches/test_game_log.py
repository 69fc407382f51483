"""Games of a tournament on disk, and their standings."""

from azo.matches.tournament import game_log, page
from azo.matches.tournament.game_log import PlayedGame


def played(number=0, black="a", white="b", result=1, score=2, ended="", **fields):
    fields = {
        "opening_plies": 2,
        "actions": (37, 43, 64, 18),
        "num_moves": (3, 2),
        "positions": (12.0, None),
        "seconds": (0.5, 1.25),
    } | fields
    return PlayedGame(number, black, white, result=result, score=score, ended=ended, **fields)


def test_pairings_count_points_of_the_first_name():
    games = [
        played(0, "a", "b", 1),
        played(0, "b", "a", 1),  # one each
        played(1, "a", "b", 0),
        played(1, "b", "a", -1),  # a: 3/2
        played(2, "b", "a", -1),  # a: half of a pair
        played(0, "c", "b", -1),
    ]
    pairings = game_log.pairings(["a", "b", "c"], games)
    assert [(p.first, p.second, *p.result.counts) for p in pairings] == [
        ("a", "b", 3, 1, 1),
        ("b", "c", 1, 0, 0),
    ]
    assert pairings[0].result.pair_scores == (0, 0, 1, 1, 0)
    assert pairings[1].result.pair_scores == (0, 0, 0, 0, 0)


def test_effort_counts_the_moves_of_one_player():
    games = [
        played(0, "a", "b"),
        played(0, "b", "a", -1, None, "b: resigned", num_moves=(1, 4), positions=(9.0, 16.0)),
    ]
    assert page.effort("a", games) == (28 / 7, (0.5 + 1.25) / 7, 0)
    assert page.effort("b", games) == (None, (1.25 + 0.5) / 3, 1)
    assert page.effort("c", games) == (None, None, 0)
