"""Which positions are timed, what is counted, and how the clock is read."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import tiny_run

from azo.games import tictactoe
from azo.learning import network
from azo.measure import players, timing

GAME = tictactoe.TicTacToe()
SETTINGS = tiny_run.settings()


@functools.cache
def trained():
    variables = network.init(GAME, SETTINGS.network, jax.random.key(0))
    return players.TrainedNetwork(variables, SETTINGS.network, SETTINGS.search)


def test_positions_follow_one_another_to_the_end_of_each_game():
    board, is_open = timing.own_games(GAME, trained(), jax.random.key(1))
    marks = np.vectorize(int.bit_count)(board.astype(object)).sum(axis=2)
    num_plies = is_open.sum(axis=0)
    assert num_plies.min() >= 5
    for game, length in enumerate(num_plies):
        assert is_open[:length, game].all()
        np.testing.assert_array_equal(marks[:length, game], np.arange(length))
        # Sides take turns: what a side had, the next ply's other side has with one mark more.
        player, opponent = board[:length, game].T
        added = opponent[1:] & ~player[:-1]
        assert (opponent[1:] - player[:-1] == added).all()
        assert (player[1:] == opponent[:-1]).all()
    last = board[num_plies - 1, np.arange(timing.BATCH)]
    is_over = GAME.is_over(GAME.unpack(jnp.asarray(last)))
    assert not np.asarray(is_over).any()


@pytest.mark.parametrize(("num_simulations", "expected"), [(1, 2), (8, 3)])
def test_positions_are_counted_once_and_finished_games_not_at_all(num_simulations, expected):
    # X O X / X O O / - X -: two moves, neither of which ends the game, and then one, which does.
    position = tictactoe.TicTacToePosition(jnp.uint32([0b000110010]), jnp.uint32([0b010001101]))
    net = trained()
    search = players.with_simulations(net.search_config, num_simulations)
    _, reached = timing._move(
        GAME, net.variables, jax.random.key(0), position, config=net.network_config, search=search
    )
    assert reached.tolist() == [expected]


def test_times_are_medians_a_move(monkeypatch):
    # Each reading of the clock is later by 64 ms than the step before it: 64, 128, 192, ...
    readings = iter(0.064 * np.cumsum(np.arange(1000)))
    monkeypatch.setattr(timing.time, "perf_counter", lambda: next(readings))
    raw, searched = timing.paces(GAME, trained(), jax.random.key(1), [0, 4])
    assert (raw.first_ply, raw.last_ply) == (0, 8)
    # Measurements last 64 ms times 1, 3, 5, ...: the first of each kind compiles. Fifteen alone,
    # the eighth of which lasts 17 units; three batches, whose second lasts 37.
    assert raw.alone_ms == pytest.approx(17 * 64)
    assert raw.batch_ms == pytest.approx(37)
    assert (raw.alone_positions, raw.batch_positions) == (1, 1)
    assert 2 < searched.batch_positions <= 5
    assert timing.row("raw", raw) == "| 0 to 8 | raw | 1088.00 | 1.0 | 37.000 | 1.0 |"
