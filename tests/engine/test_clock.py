"""Clocks, against the rules of GTP's specification."""

import pytest

from azo.engine import clock
from azo.engine.engine_settings import EngineConfig, Limits


@pytest.mark.parametrize(
    ("settings", "used", "left", "moves"),
    [
        ((300, 0, 0), [], 300, None),
        ((300, 0, 0), [100], 200, None),
        ((300, 0, 0), [350], 0, None),
        ((10, 30, 3), [15], 25, 2),  # 5 s of the first period, and one of its 3 moves
        ((10, 30, 3), [15, 20], 5, 1),
        ((10, 30, 3), [15, 20, 1], 30, 3),  # the next period
        ((0, 30, 3), [], 30, 3),
        ((1, 30, 3), [], 30, 3),  # a little main time is not hurried where a period follows
        # A period without moves limits nothing.
        *((settings, [1000], None, None) for settings in ((), (0, 0, 0), (0, 1, 0), (300, 10, 0))),
    ],
)
def test_main_time_and_then_periods_are_used_up_by_their_side(settings, used, left, moves):
    clocks = clock.GameClock(*settings)
    fresh = _seconds(clocks, is_black=False)
    for seconds in used:
        clocks.use(True, seconds)
    expected = None if left is None else clock.seconds_for_move(left, 60, moves_left=moves)
    assert _seconds(clocks, is_black=True) == expected
    assert _seconds(clocks, is_black=False) == fresh


def _seconds(clocks, *, is_black):
    return clocks.limits(is_black, 60, EngineConfig()).seconds


def test_the_limits_are_those_of_the_clock_and_of_the_settings():
    config = EngineConfig(num_simulations=50, seconds=5.0)
    assert clock.GameClock().limits(True, 60, config) == Limits(50, 5.0)
    seconds = clock.seconds_for_move(60, 60)
    limits = clock.GameClock(60).limits(True, 60, config)
    assert limits == Limits(50, seconds, ends_early=True)
    assert clock.GameClock(600).limits(True, 60, config) == Limits(50, 5.0, ends_early=True)


def test_the_front_ends_time_left_replaces_the_clock():
    clocks = clock.GameClock(300, 30, 3)
    clocks.set_left(True, 12, 2)
    assert _seconds(clocks, is_black=True) == clock.seconds_for_move(12, 60, moves_left=2)
    clocks.set_left(True, 600, 0)
    assert _seconds(clocks, is_black=True) == clock.seconds_for_move(600, 60)
    unset = clock.GameClock()
    unset.set_left(False, 20, 0)
    assert _seconds(unset, is_black=False) == clock.seconds_for_move(20, 60)
    assert _seconds(unset, is_black=True) is None


def test_the_clock_lasts_for_the_game():
    """With every move at its limit, a game uses most of its 60 s and never all."""
    remaining = 60.0
    for num_empties in range(60, 0, -2):
        seconds = clock.seconds_for_move(remaining, num_empties)
        remaining -= seconds
        assert remaining > 0.25
    assert remaining < 12
    assert clock.seconds_for_move(10.0, 40, moves_left=2) == pytest.approx(4.85)
    assert clock.seconds_for_move(5.0, 40, increment=1.0) > 1.0
    assert clock.seconds_for_move(1.0, 40, increment=9.0) == pytest.approx(0.7)
    assert clock.seconds_for_move(0.0, 40) == pytest.approx(0.02)
