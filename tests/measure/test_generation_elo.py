import pydantic
import pytest

from azo.measure import arena, elo, generation_elo


@pytest.mark.parametrize(
    ("num_earlier", "rated", "expected"),
    [
        (4, [], []),
        (0, [10, 20], []),
        (1, [10, 20, 30], [30]),
        (2, [10, 20, 30], [10, 30]),
        (3, [10, 20, 30], [10, 20, 30]),
        (5, [10, 20, 30], [10, 20, 30]),
        (4, [10, 20, 30, 40, 50, 60, 70], [10, 30, 50, 70]),
        (4, [10, 20, 30, 40, 50, 60, 70, 80, 90, 100], [10, 40, 70, 100]),
    ],
)
def test_earlier_opponents_are_spread_from_the_first_to_the_latest(num_earlier, rated, expected):
    assert generation_elo.spread(num_earlier, rated) == expected


@pytest.mark.parametrize(("opponent", "name"), [("greedy", "greedy"), (20, "iteration 20")])
def test_the_event_of_a_match_says_all_that_is_rated(opponent, name):
    result = arena.MatchResult(5, 1, 2, pair_scores=(0, 1, 1, 0, 2))
    event = {"event": generation_elo.MATCH, "iteration": 30} | generation_elo.match_fields(
        opponent, result
    )
    assert generation_elo.opponent(event) == opponent
    expected = elo.Pairing("iteration 30", name, 5, 1, 2, (0, 1, 1, 0, 2))
    assert generation_elo.pairing(event) == expected


@pytest.mark.parametrize(
    ("pool", "anchor"),
    [
        (("greedy", "random"), "random"),
        (("rollouts:9", "greedy"), "rollouts:9"),
        (("random", "patterns:4"), "patterns:2"),
    ],
)
def test_the_ladder_random_or_the_first_of_the_pool_sets_the_zero(pool, anchor):
    assert generation_elo.RatingsConfig(pool=pool).anchor == anchor


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"num_games": 3}, "multiple of 2"),
        ({"every": 5, "every_seconds": 60}, "every is 5 and ratings.every_seconds 60: set one"),
        ({"pool": ()}, "at least 1"),
        ({"pool": ("random", "greedy", "random")}, "names a player twice: random, greedy, random"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(pydantic.ValidationError, match=message):
        generation_elo.RatingsConfig(**wrong)


@pytest.mark.parametrize(
    ("seconds", "rated_seconds", "expected"),
    [
        (0, 0, False),
        (3599, 0, False),
        (3601, 0, True),
        (3700, 3601, False),
        (7199, 3601, False),
        (7200, 3601, True),
        (14_500, 3601, True),  # two multiples at once are one rating
        (14_600, 14_500, False),
    ],
)
def test_by_seconds_a_rating_is_due_once_in_every_interval(seconds, rated_seconds, expected):
    ratings = generation_elo.RatingsConfig(every_seconds=3600)
    assert ratings.is_enabled
    assert ratings.is_due(7, seconds, rated_seconds) == expected


@pytest.mark.parametrize(("every", "expected"), [(0, []), (1, [1, 2, 3, 4]), (3, [3])])
def test_by_iterations_a_rating_is_due_at_their_multiples(every, expected):
    ratings = generation_elo.RatingsConfig(every=every)
    assert ratings.is_enabled == (every > 0)
    assert [n for n in range(5) if ratings.is_due(n, 10.0 * n, 0)] == expected
