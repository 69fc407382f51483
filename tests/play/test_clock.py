"""Clocks, against the rules of GTP's specification."""

import numpy as np
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


def ended_at(timer, visits_at, num_left=10**9):
    """Returns the second at which a search of 100 simulations a second ends."""
    for tick in range(1, 1000):
        elapsed = tick / 100
        if timer.is_over(elapsed, tick, num_left - tick, np.array(visits_at(tick))):
            return elapsed
    raise AssertionError("the search does not end")


def test_a_move_that_cannot_be_caught_ends_the_search():
    # All visits go to the first move: it leads by t after t of 1000 simulations.
    assert ended_at(clock.MoveTimer(10, 15), lambda t: [t, 0]) == pytest.approx(5, abs=0.02)
    by_number = ended_at(clock.MoveTimer(10, 15), lambda t: [t, 0], num_left=400)
    assert by_number == pytest.approx(2, abs=0.02)


def test_a_move_that_can_be_caught_takes_its_time():
    def settled(t):
        return [0.5 * t + 1, 0.5 * t]

    assert ended_at(clock.MoveTimer(4, 6), settled) == pytest.approx(4, abs=0.02)


def test_a_change_of_the_best_move_extends_the_search():
    def changed(second):
        return lambda t: [0.5 * t + 1, 0.5 * t + 2 * (t >= 100 * second)]

    ends = [ended_at(clock.MoveTimer(4, 6), changed(second)) for second in (1, 2.5, 3.5)]
    assert ends == pytest.approx([4, 5, 6], abs=0.02)  # the second is settled after 2.5 s more


def test_the_only_move_left_is_played_at_once():
    assert ended_at(clock.MoveTimer(4, 6), lambda t: [0, 300 + t, 0]) < 1
    assert ended_at(clock.MoveTimer(4, 6), lambda t: [300 + t]) < 1


def test_a_hard_move_takes_at_most_a_share_of_the_clock():
    clocks = clock.GameClock(100)
    usual = clocks.seconds_for_move(True, 60)
    assert clocks.most_seconds(True, usual) == pytest.approx(1.5 * usual)
    assert clocks.most_seconds(True, 25.0) == pytest.approx(0.3 * (100 - 0.3))
    assert clocks.most_seconds(True, 2.0, 2.0) == 2.0
    assert clocks.most_seconds(True, 90.0) == 90.0
    assert clock.GameClock().most_seconds(True, 5.0) is None


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
