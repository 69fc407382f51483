"""Ratings: laws, cases worked by hand, an independent likelihood, and coverage of intervals."""

import math

import pytest
import scipy.optimize
import scipy.stats

from azo.matches import elo


def pairing(first, second, *counts):
    return elo.Pairing(first, second, elo.MatchResult(*counts))


TABLE = [
    pairing("random", "greedy", 3, 1, 16),
    pairing("deep", "random", 20, 0, 0),
    pairing("greedy", "deep", 4, 3, 13),
    pairing("deep", "net", 6, 2, 12),
]


def by_name(fit):
    return {standing.name: standing for standing in fit.standings}


def chances(difference, draws):
    """Returns win, draw and loss as Davidson has them, `draws` being his v."""
    parts = [10 ** (difference / 800), draws, 10 ** (-difference / 800)]
    return [part / sum(parts) for part in parts]


def log_likelihood(table, ratings, draws):
    """Returns the logarithm of the likelihood; the virtual player of the prior is rated 0."""
    rows = [(ratings[p.first] - ratings[p.second], p.result.counts) for p in table] + [
        (own, (1 / 3, 1 / 3, 1 / 3)) for own in ratings.values()
    ]
    return sum(
        count * math.log(chance)
        for difference, counts in rows
        for count, chance in zip(counts, chances(difference, draws), strict=True)
    )


@pytest.mark.parametrize(
    ("counts", "v"),  # draws against the geometric mean of wins and losses
    [((60_000, 0, 40_000), 0), ((30_000, 50_000, 20_000), 5 / math.sqrt(3 * 2))],
)
def test_a_long_match_gives_the_elo_of_wins_against_losses(counts, v):
    fit = elo.rate([pairing("a", "b", *counts)], anchor="b")
    assert fit.standings[0].rating == pytest.approx(400 * math.log10(1.5), abs=0.01)
    assert fit.draw_share == pytest.approx(v / (2 + v), abs=1e-4)


def test_standings_count_games_and_points_and_put_random_at_0():
    fit = elo.rate(TABLE)
    counted = {s.name: (s.result.num_games, s.result.points) for s in fit.standings}
    assert counted == {"random": (40, 3.5), "greedy": (40, 22), "deep": (60, 41.5), "net": (20, 13)}
    assert [s.name for s in fit.standings] == ["net", "deep", "greedy", "random"]
    assert fit.anchor == "random"
    assert (by_name(fit)["random"].rating, by_name(fit)["random"].interval) == (0, (0, 0))
    moved = elo.rate(TABLE, anchor="deep")
    for ours, theirs in zip(fit.standings, moved.standings, strict=True):
        shift = by_name(fit)["deep"].rating
        assert ours.rating - theirs.rating == pytest.approx(shift, abs=1e-3)


def test_without_random_the_mean_rating_is_0():
    fit = elo.rate([pairing("a", "b", 12, 0, 8)])
    assert (fit.anchor, fit.standings[0].rating) == (None, pytest.approx(-fit.standings[1].rating))


def test_known_ratings_stay_and_the_others_are_rated_on_their_scale():
    known = {"low": 0.0, "high": 400.0, "absent": 900.0}
    games = [pairing("net", "low", 60_000, 0, 6_000), pairing("high", "net", 60_000, 0, 6_000)]
    ratings = by_name(elo.rate(games, known=known))
    assert (ratings["low"].rating, ratings["high"].rating) == pytest.approx((0, 400))
    assert ratings["low"].interval == (0, 0)
    # Ten to one against the one and by the other: in the middle.
    assert ratings["net"].rating == pytest.approx(200, abs=0.1)
    low, high = ratings["net"].interval
    assert low < 200 < high < low + 10
    # By their own games the two would be 800 apart.
    assert by_name(elo.rate(games, anchor="low"))["high"].rating == pytest.approx(800, abs=0.1)


def test_order_and_splitting_of_pairings_do_not_matter():
    turned = [elo.Pairing(p.second, p.first, p.result.flipped) for p in TABLE[1:]]
    parts = [pairing("random", "greedy", 3, 0, 6), pairing("greedy", "random", 10, 1, 0)]
    ours, theirs = by_name(elo.rate(TABLE)), by_name(elo.rate(turned + parts))
    for name in ours:
        assert ours[name].rating == pytest.approx(theirs[name].rating, abs=1e-3)
        assert ours[name].interval == pytest.approx(theirs[name].interval, abs=0.1)


def test_interval_ends_lower_the_profile_likelihood_by_half_of_1_96_squared():
    table = [pairing("a", "b", 20, 0, 0), pairing("b", "c", 5, 1, 4)]
    top = by_name(elo.rate(table, anchor="b"))["a"]

    def best_with(lead):
        def loss(x):
            ratings = {"a": x[0] + lead, "b": x[0], "c": x[1]}
            return -log_likelihood(table, ratings, math.exp(x[2]))

        options = {"xatol": 1e-4, "fatol": 1e-8}
        return -scipy.optimize.minimize(
            loss, [-lead / 2, -lead / 2, -2], method="Nelder-Mead", options=options
        ).fun

    highest = best_with(top.rating)
    assert best_with(top.rating - 20) < highest > best_with(top.rating + 20)
    for end in top.interval:
        assert highest - best_with(end) == pytest.approx(1.959964**2 / 2, abs=0.005)
    assert top.interval[1] - top.rating > 2 * (top.rating - top.interval[0])  # lopsided


def test_what_only_the_prior_determines_has_a_wide_interval():
    table = [pairing("a", "b", 9, 0, 1), pairing("c", "b", 0, 0, 5), pairing("x", "y", 1, 1, 0)]
    new = by_name(elo.rate(table, players=["new", "a"]))["new"]
    assert (new.result.num_games, new.result.points) == (0, 0)
    assert new.interval[0] < -800 < 800 < new.interval[1]


def test_intervals_widen_with_the_dispersion_of_pairs():
    def top(scores):
        return elo.rate([pairing("a", "b", 200, 0, 200, scores)], anchor="b")

    alone, level, apart = top(None), top((0, 0, 200, 0, 0)), top((100, 0, 0, 0, 100))
    assert alone.dispersion is None
    # The points of two games without draws vary by 1/2: 0 of it with one win each, twice it
    # where one side wins both.
    assert level.dispersion == pytest.approx(0, abs=1e-6)
    assert apart.dispersion == pytest.approx(2, rel=0.01)
    width = [high - low for low, high in (r.standings[0].interval for r in (alone, level, apart))]
    assert width[1] == pytest.approx(width[0])
    assert width[2] == pytest.approx(math.sqrt(2) * width[0], rel=0.01)


def test_the_cross_table_adds_up_games_of_both_sides():
    pairs = (1, 0, 2, 0, 0)
    both = [pairing("a", "b", 3, 1, 2, pairs), pairing("b", "a", 4, 0, 2, pairs)]
    assert elo.cross_table([*both, pairing("a", "c", 0, 0, 2)]) == {
        ("a", "b"): elo.MatchResult(5, 1, 6, (1, 0, 4, 0, 1)),
        ("b", "a"): elo.MatchResult(6, 1, 5, (1, 0, 4, 0, 1)),
        ("a", "c"): elo.MatchResult(0, 0, 2),
        ("c", "a"): elo.MatchResult(2, 0, 0),
    }


def test_a_score_implies_a_difference():
    assert elo.from_score(0.5) == 0
    assert elo.from_score(10 / 11) == pytest.approx(400)
    assert elo.from_score(0.25) == pytest.approx(-elo.from_score(0.75))
    assert (elo.from_score(0.0), elo.from_score(1.0)) == (-math.inf, math.inf)
    for result in (elo.MatchResult(20, 0, 0), elo.MatchResult(7, 0, 0)):
        assert elo.from_score(result.interval()[1]) == math.inf


def test_a_table_without_players_is_refused():
    with pytest.raises(ValueError, match="no players to rate"):
        elo.rate([])


@pytest.mark.parametrize(("wins", "losses"), [(0, 1), (17, 3), (64, 64)])
def test_the_interval_without_draws_is_scipys_wilson_interval(wins, losses):
    expected = scipy.stats.binomtest(wins, wins + losses).proportion_ci(method="wilson")
    low, high = elo.MatchResult(wins, 0, losses).interval()
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_a_draw_is_half_a_win_and_a_result_reads_as_counts_and_score():
    assert elo.MatchResult(3, 4, 1).score == 5 / 8
    assert elo.MatchResult(3, 4, 1).interval() == elo.MatchResult(5, 0, 3).interval()
    text = str(elo.MatchResult(120, 3, 5))
    assert text == "120/3/5 (score 0.949, 95 % 0.90 to 0.98)"
