"""Ratings: laws, cases worked by hand, an independent likelihood, and coverage of intervals.

The large simulation (`pytest -m slow`) is 300 tournaments a field, and prints its figures.
"""

import itertools
import math

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from azo.measure import arena, elo

Pairing = elo.Pairing

TABLE = [
    Pairing("random", "greedy", 3, 1, 16),
    Pairing("deep", "random", 20, 0, 0),
    Pairing("greedy", "deep", 4, 3, 13),
    Pairing("deep", "net", 6, 2, 12),
]


def by_name(fit):
    return {standing.name: standing for standing in fit.standings}


def chances(difference, draws):
    """Returns win, draw and loss as Davidson has them, `draws` being his v."""
    parts = [10 ** (difference / 800), draws, 10 ** (-difference / 800)]
    return [part / sum(parts) for part in parts]


def log_likelihood(table, ratings, draws):
    """Returns the logarithm of the likelihood; the virtual player of the prior is rated 0."""
    rows = [(ratings[p.first] - ratings[p.second], (p.wins, p.draws, p.losses)) for p in table] + [
        (own, (1 / 3, 1 / 3, 1 / 3)) for own in ratings.values()
    ]
    return sum(
        count * math.log(chance)
        for difference, counts in rows
        for count, chance in zip(counts, chances(difference, draws), strict=True)
    )


def test_a_long_match_gives_the_elo_of_wins_against_losses():
    fit = elo.rate([Pairing("a", "b", 60_000, 0, 40_000)], anchor="b")
    assert fit.standings[0].rating == pytest.approx(400 * math.log10(1.5), abs=0.01)
    assert fit.draw_share < 0.001
    drawn = elo.rate([Pairing("a", "b", 30_000, 50_000, 20_000)], anchor="b")
    assert drawn.standings[0].rating == pytest.approx(400 * math.log10(1.5), abs=0.01)
    v = 5 / math.sqrt(3 * 2)  # draws against the geometric mean of wins and losses
    assert drawn.draw_share == pytest.approx(v / (2 + v), abs=1e-4)


def test_expected_points_equal_points():
    fit = elo.rate(TABLE)
    ratings = {name: standing.rating for name, standing in by_name(fit).items()}
    v = 2 * fit.draw_share / (1 - fit.draw_share)

    def expected(difference):
        win, draw, _ = chances(difference, v)
        return win + draw / 2

    def virtual_points(centre):
        return sum(expected(own - centre) for own in ratings.values()) - len(ratings) / 2

    centre = scipy.optimize.brentq(virtual_points, -2000, 2000)  # the virtual player's rating
    draws = len(ratings) / 3 - sum(chances(own - centre, v)[1] for own in ratings.values())
    for name, standing in by_name(fit).items():
        owed = standing.points + 1 / 2 - expected(ratings[name] - centre)
        for p in TABLE:
            if name in (p.first, p.second):
                other = p.second if name == p.first else p.first
                owed -= p.num_games * expected(ratings[name] - ratings[other])
        assert owed == pytest.approx(0, abs=1e-4), name
    for p in TABLE:
        draws += p.draws - p.num_games * chances(ratings[p.first] - ratings[p.second], v)[1]
    assert draws == pytest.approx(0, abs=1e-4)


def test_standings_count_games_and_points_and_put_random_at_0():
    fit = elo.rate(TABLE)
    counted = {s.name: (s.num_games, s.points) for s in fit.standings}
    assert counted == {
        "random": (40, 3.5),
        "greedy": (40, 22.0),
        "deep": (60, 41.5),
        "net": (20, 13.0),
    }
    assert [s.name for s in fit.standings] == ["net", "deep", "greedy", "random"]
    assert fit.anchor == "random"
    assert (by_name(fit)["random"].rating, by_name(fit)["random"].interval) == (0, (0, 0))
    moved = elo.rate(TABLE, anchor="deep")
    for ours, theirs in zip(fit.standings, moved.standings, strict=True):
        shift = by_name(fit)["deep"].rating
        assert ours.rating - theirs.rating == pytest.approx(shift, abs=1e-3)


def test_without_random_the_mean_rating_is_0():
    fit = elo.rate([Pairing("a", "b", 12, 0, 8)])
    assert fit.anchor is None
    assert fit.standings[0].rating == pytest.approx(-fit.standings[1].rating)


def test_known_ratings_stay_and_the_others_are_rated_on_their_scale():
    known = {"low": 0.0, "high": 400.0, "absent": 900.0}
    games = [Pairing("net", "low", 60_000, 0, 6_000), Pairing("high", "net", 60_000, 0, 6_000)]
    fit = by_name(elo.rate(games, known=known))
    assert (fit["low"].rating, fit["high"].rating) == pytest.approx((0, 400))
    assert fit["low"].interval == (0, 0)
    # Ten to one against the one and by the other: in the middle.
    assert fit["net"].rating == pytest.approx(200, abs=0.1)
    low, high = fit["net"].interval
    assert low < 200 < high
    assert high - low < 10
    # By their own games the two would be 800 apart.
    assert by_name(elo.rate(games, anchor="low"))["high"].rating == pytest.approx(800, abs=0.1)


def test_beside_known_ratings_the_likelihood_of_the_others_is_largest():
    games = [
        Pairing("net", "a", 30, 4, 6),
        Pairing("net", "b", 17, 2, 21),
        Pairing("old", "net", 3, 0, 17),
    ]
    fit = by_name(elo.rate(games, known={"a": 100.0, "b": 300.0}))

    def loss(x):  # the virtual player of the prior has a rating of its own
        net, old, virtual, draws = x
        table = {"a": 100.0, "b": 300.0, "net": net, "old": old}
        shifted = {name: rating - virtual for name, rating in table.items()}
        return -log_likelihood(games, shifted, math.exp(draws))

    best = scipy.optimize.minimize(loss, [200.0, 0.0, 150.0, -1.0], method="BFGS").x
    assert (fit["net"].rating, fit["old"].rating) == pytest.approx(best[:2], abs=0.2)


def test_known_ratings_connect_players_that_never_met():
    games = [Pairing("net", "a", 5, 0, 5), Pairing("other", "b", 5, 0, 5)]
    assert elo.rate(games, anchor="a").warnings
    assert not elo.rate(games, known={"a": 0, "b": 500}).warnings


def test_order_and_splitting_of_pairings_do_not_matter():
    turned = [Pairing(p.second, p.first, p.losses, p.draws, p.wins) for p in TABLE[1:]]
    parts = [Pairing("random", "greedy", 3, 0, 6), Pairing("greedy", "random", 10, 1, 0)]
    ours, theirs = by_name(elo.rate(TABLE)), by_name(elo.rate(turned + parts))
    for name in ours:
        assert ours[name].rating == pytest.approx(theirs[name].rating, abs=1e-3)
        assert ours[name].interval == pytest.approx(theirs[name].interval, abs=0.1)


def test_interval_ends_lower_the_profile_likelihood_by_half_of_1_96_squared():
    table = [Pairing("a", "b", 20, 0, 0), Pairing("b", "c", 5, 1, 4)]
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


def test_the_prior_has_the_effect_that_the_module_states():
    figures = {(60, 40): (70.6, 1.7, 141.3), (19, 1): (504, 238, 962), (20, 0): (863, 368, 2417)}
    for (wins, losses), expected in figures.items():
        top = elo.rate([Pairing("a", "b", wins, 0, losses)], anchor="b").standings[0]
        assert (top.rating, *top.interval) == pytest.approx(expected, rel=0.005, abs=0.05)


def test_differences_that_only_the_prior_determines_are_warned_of():
    assert elo.rate([Pairing("a", "b", 3, 0, 1), Pairing("c", "b", 0, 1, 0)]).warnings == ()
    table = [Pairing("a", "b", 9, 0, 1), Pairing("c", "b", 0, 0, 5), Pairing("x", "y", 1, 1, 0)]
    fit = elo.rate(table, players=["new", "a"])
    groups, levels = fit.warnings
    warning, names = groups.split(": ")
    assert warning == "No games connect these groups, so their differences depend on the prior"
    assert {frozenset(group.split(", ")) for group in names.split(" | ")} == {
        frozenset("abc"),
        frozenset("xy"),
        frozenset(["new"]),
    }
    assert levels == (
        "No player took points from players further left, so these differences depend on the "
        "prior: a, b > c"
    )
    new = by_name(fit)["new"]
    assert (new.num_games, new.points) == (0, 0)
    assert new.interval[0] < -800 < 800 < new.interval[1]


def test_intervals_widen_with_the_dispersion_of_pairs():
    def top(scores):
        return elo.rate([Pairing("a", "b", 200, 0, 200, scores)], anchor="b")

    alone, level, apart = top(None), top((0, 0, 200, 0, 0)), top((100, 0, 0, 0, 100))
    assert alone.dispersion is None
    # The points of two games without draws vary by 1/2: 0 of it with one win each, twice it
    # where one side wins both.
    assert level.dispersion == pytest.approx(0, abs=1e-6)
    assert apart.dispersion == pytest.approx(2, rel=0.01)
    width = [high - low for low, high in (r.standings[0].interval for r in (alone, level, apart))]
    assert width[1] == pytest.approx(width[0])
    assert width[2] == pytest.approx(math.sqrt(2) * width[0], rel=0.01)


FIELDS = {  # Elo of the players, Davidson's v, games a pairing, correlation within a pair of games
    "equal": ([0] * 6, 0.1, 10, 0.0),
    "spread": ([0, 200, 300, 400, 500, 700], 0.1, 10, 0.0),
    "steep": ([0, 500, 1000, 1500, 2000], 0.05, 10, 0.0),
    "random and others": ([0, 900, 1000, 1100, 1200, 1300], 0.05, 20, 0.0),
    "drawn": ([0, 100, 200, 300], 2.0, 20, 0.0),
    "two": ([0, 150], 0.1, 40, 0.0),
    "long": ([0, 150, 300, 450, 1000], 0.1, 100, 0.0),
    "alike pairs": ([0, 100, 200, 300, 500], 0.1, 20, 0.8),
    "opposite pairs": ([0, 100, 200, 300, 500], 0.1, 20, -0.4),
}


def simulated(rng, elos, v, num_games, correlation):
    """Returns the table of a round robin where the two games of an opening depend on each other."""
    table = []
    for one, other in itertools.combinations(range(len(elos)), 2):
        win, draw, _ = chances(elos[one] - elos[other], v)
        covariance = [[1, correlation], [correlation, 1]]
        drawn = rng.multivariate_normal([0, 0], covariance, size=num_games // 2)
        rank = scipy.stats.norm.cdf(drawn)
        points = np.where(rank < win, 2, np.where(rank < win + draw, 1, 0))
        losses, draws, wins = np.bincount(points.ravel(), minlength=3)
        scores = tuple(np.bincount(points.sum(axis=1), minlength=5).tolist())
        table.append(Pairing(str(one), str(other), int(wins), int(draws), int(losses), scores))
    return table


def coverage(field, num_tables, seed):
    """Returns `[2, players]`: how often intervals to the first and to the mean held the truth."""
    elos = np.array(field[0])
    rng = np.random.default_rng(seed)
    held = np.zeros((2, len(elos)))
    for _ in range(num_tables):
        table = simulated(rng, *field)
        for row, anchor, zero in ((0, "0", elos[0]), (1, None, elos.mean())):
            for name, standing in by_name(elo.rate(table, anchor=anchor)).items():
                low, high = standing.interval
                held[row, int(name)] += low <= elos[int(name)] - zero <= high
    return held / num_tables


@pytest.mark.parametrize("name", ["spread", "steep", "alike pairs"])
def test_intervals_cover_the_truth(name):
    held = coverage(FIELDS[name], 8, seed=1)
    # 95 % of some 75 intervals, were they independent: 2.4 deviations less are 0.89.
    assert np.concatenate([held[0, 1:], held[1]]).mean() >= 0.89


@pytest.mark.slow
@pytest.mark.parametrize("name", FIELDS)
def test_intervals_cover_the_truth_90_to_99_percent_of_the_time(name):
    held = coverage(FIELDS[name], 300, seed=2)
    anchor, mean = held[0, 1:], held[1]
    print(
        f"{name}: to the anchor {anchor.mean():.3f} ({anchor.min():.3f} to {anchor.max():.3f}), "
        f"to the mean {mean.mean():.3f} ({mean.min():.3f} to {mean.max():.3f})"
    )
    assert 0.90 <= anchor.mean() <= 0.99
    assert 0.90 <= mean.mean() <= 0.99
    assert min(anchor.min(), mean.min()) >= 0.90


def test_the_cross_table_adds_up_games_of_both_sides():
    table = elo.cross_table(
        [Pairing("a", "b", 3, 1, 2), Pairing("b", "a", 4, 0, 1), Pairing("a", "c", 0, 0, 2)]
    )
    assert table == {
        ("a", "b"): (4, 1, 6),
        ("b", "a"): (6, 1, 4),
        ("a", "c"): (0, 0, 2),
        ("c", "a"): (2, 0, 0),
    }


def test_a_score_implies_a_difference():
    assert elo.from_score(0.5) == 0
    assert elo.from_score(10 / 11) == pytest.approx(400)
    assert elo.from_score(0.25) == pytest.approx(-elo.from_score(0.75))
    assert (elo.from_score(0.0), elo.from_score(1.0)) == (-math.inf, math.inf)
    for result in (arena.MatchResult(20, 0, 0), arena.MatchResult(7, 0, 0)):
        assert elo.from_score(result.interval()[1]) == math.inf


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: elo.rate([]), "no players to rate"),
        (
            lambda: elo.rate([Pairing("a", "b", 1, 0, 0)], anchor="c"),
            "anchor is 'c', but should be a player: a, b",
        ),
        (lambda: Pairing("a", "a", 1, 0, 0), "a cannot play against itself"),
        (lambda: Pairing("a", "b", 1, 0, -1), "a - b: negative count in (1, 0, -1)"),
        (
            lambda: Pairing("a", "b", 3, 0, 0, (0, 0, 0, 0, 2)),
            "a - b: 2 pairs of games, but only 3 games",
        ),
    ],
)
def test_invalid_tables_are_refused(make, message):
    with pytest.raises(ValueError) as error:
        make()
    assert str(error.value) == message
