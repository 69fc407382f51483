"""Cycles of a cross-table, and their rate by chance."""

import itertools

import numpy as np
import pytest

from azo.measure import cycles, elo

Pairing = elo.Pairing


def transitive_table(rng, num_players, *, odds, num_games):
    """Returns a round robin without draws; over `k` places the odds are to the power of `k`."""
    return [
        Pairing(f"{i:02}", f"{j:02}", wins := rng.binomial(num_games, chance), 0, num_games - wins)
        for i, j in itertools.combinations(range(num_players), 2)
        for chance in [odds ** (j - i) / (1 + odds ** (j - i))]
    ]


def test_rock_paper_scissors_is_a_cycle_with_its_scores():
    table = [
        Pairing("rock", "scissors", 15, 4, 1),
        Pairing("paper", "rock", 18, 0, 2),
        Pairing("paper", "scissors", 5, 0, 15),  # from the side of the loser
        Pairing("rock", "sand", 20, 0, 0),
    ]
    (cycle,) = cycles.find_cycles(table)
    assert cycle.names == ("paper", "rock", "scissors")
    assert cycle.scores == pytest.approx((0.9, 0.85, 0.75))
    assert str(cycle) == "paper 0.90 > rock 0.85 > scissors 0.75 > paper"


def test_a_match_that_chance_may_have_decided_closes_no_cycle():
    table = [Pairing("a", "b", 18, 0, 2), Pairing("b", "c", 18, 0, 2)]
    # 5 of 6 decided games: two-sided 14/64. 6 of 6: 2/64.
    assert cycles.find_cycles([*table, Pairing("c", "a", 5, 14, 1)]) == []
    (cycle,) = cycles.find_cycles([*table, Pairing("c", "a", 6, 14, 0)])
    assert cycle.scores == pytest.approx((0.9, 0.9, 0.65))
    assert cycles.find_cycles([*table, Pairing("c", "a", 6, 14, 0)], level=0.03) == []


def test_games_of_one_pairing_are_added_up():
    table = [Pairing("a", "b", 9, 0, 1), Pairing("b", "c", 9, 0, 1), Pairing("c", "a", 3, 0, 0)]
    assert cycles.find_cycles(table) == []
    (cycle,) = cycles.find_cycles([*table, Pairing("a", "c", 0, 2, 5)])
    assert cycle.scores == pytest.approx((0.9, 0.9, 0.9))


def test_longer_cycles_are_returned_where_there_are_no_shorter_ones():
    names = "abcdef"
    ring = [Pairing(x, y, 10, 0, 0) for x, y in itertools.pairwise(names + "a")]
    (cycle,) = cycles.find_cycles([*ring, Pairing("a", "d", 10, 0, 0), Pairing("f", "g", 9, 0, 0)])
    assert "".join(cycle.names) == "adef"
    (cycle,) = cycles.find_cycles(ring)
    assert "".join(cycle.names) == "abcdef"


def test_the_clearest_cycle_comes_first():
    table = [
        *(Pairing(x, y, 16, 0, 4) for x, y in ("ab", "bc", "ca")),
        *(Pairing(x, y, 19, 0, 1) for x, y in ("de", "ef", "fd")),
    ]
    assert ["".join(cycle.names) for cycle in cycles.find_cycles(table)] == ["def", "abc"]


def test_transitive_players_make_no_cycle():
    rng = np.random.default_rng(3)
    tables = [transitive_table(rng, 12, odds=1.5, num_games=20) for _ in range(20)]
    assert [cycles.find_cycles(table) for table in tables] == [[]] * 20


@pytest.mark.slow
@pytest.mark.parametrize(("odds", "most"), [(1.0, 0.06), (1.1, 0.03), (1.3, 0.01)])
def test_cycles_by_chance_are_rare(odds, most):
    rng = np.random.default_rng(4)
    tables = [transitive_table(rng, 20, odds=odds, num_games=100) for _ in range(300)]
    share = np.mean([bool(cycles.find_cycles(table)) for table in tables])
    print(f"20 players, odds of neighbours {odds}: {share:.3f} of the tables have a cycle")
    assert share <= most
