"""Clocks, against the rules of GTP's specification."""

import pytest

from azo.play import clock


@pytest.mark.parametrize("settings", [(), (0, 0, 0), (0, 1, 0), (300, 10, 0)])
def test_a_period_without_moves_limits_nothing(settings):
    clocks = clock.GameClock(*settings)
    clocks.use(True, 1000)
    assert clocks.seconds_for_move(True, 60) is None


def test_main_time_alone_is_used_up_by_its_side():
    clocks = clock.GameClock(300, 0, 0)
    clocks.use(True, 100)
    assert clocks.seconds_for_move(True, 40) == clock.seconds_for_move(200, 40)
    assert clocks.seconds_for_move(False, 40) == clock.seconds_for_move(300, 40)
    clocks.use(True, 250)
    assert clocks.seconds_for_move(True, 40) == clock.seconds_for_move(0, 40) < 0.1


def test_periods_follow_the_main_time_and_one_another():
    clocks = clock.GameClock(10, 30, 3)
    clocks.use(True, 15)  # 5 s of the first period, and one of its 3 moves
    assert clocks.seconds_for_move(True, 60) == clock.seconds_for_move(25, 60, moves_left=2)
    clocks.use(True, 20)
    assert clocks.seconds_for_move(True, 60) == clock.seconds_for_move(5, 60, moves_left=1)
    clocks.use(True, 1)
    assert clocks.seconds_for_move(True, 60) == clock.seconds_for_move(30, 60, moves_left=3)


def test_periods_alone_begin_at_once():
    clocks = clock.GameClock(0, 30, 3)
    assert clocks.seconds_for_move(False, 60) == clock.seconds_for_move(30, 60, moves_left=3)


def test_a_little_main_time_is_not_hurried_where_a_period_follows():
    clocks = clock.GameClock(1, 30, 3)
    assert clocks.seconds_for_move(True, 60) == clock.seconds_for_move(30, 60, moves_left=3)


def test_the_front_ends_time_left_replaces_the_clock():
    clocks = clock.GameClock(300, 30, 3)
    clocks.set_left(True, 12, 2)
    assert clocks.seconds_for_move(True, 60) == clock.seconds_for_move(12, 60, moves_left=2)
    clocks.set_left(True, 600, 0)
    assert clocks.seconds_for_move(True, 60) == clock.seconds_for_move(600, 60)
    unset = clock.GameClock()
    unset.set_left(False, 20, 0)
    assert unset.seconds_for_move(False, 60) == clock.seconds_for_move(20, 60)
    assert unset.seconds_for_move(True, 60) is None
