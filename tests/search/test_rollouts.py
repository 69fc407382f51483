"""Random games as evaluations: their results, their means, and searches with them."""

import functools

import jax
import numpy as np
import pytest
from support.references import slow_tictactoe

from azo.games import tictactoe
from azo.opponents import players
from azo.search import improvement, rollouts

_TIC_TAC_TOE = tictactoe.TicTacToe()
# One random game is worth 1 or -1. At the default scale, made for a network's smoother values, a
# good move whose first game is lost may never be tried again below the root.
_GUMBEL = {"algorithm": "gumbel", "gumbel": improvement.GumbelConfig(value_scale=0.02)}


def _search(game, position, config):
    evaluate = rollouts.evaluator(game)
    search = functools.partial(improvement.search, game, evaluate, config=config, is_greedy=True)
    return jax.device_get(jax.jit(search)(jax.random.key(0), position))


@pytest.mark.parametrize(
    "board", ["---------", "X--------", "X---O----", "XX-O-----", "XX--OO-X-", "XOX-O----"]
)
def test_the_mean_of_random_games_is_the_exact_expectation(board):
    position = slow_tictactoe.position([board] * 8192)
    random_result = jax.jit(rollouts.random_result, static_argnums=0)
    value = np.asarray(random_result(_TIC_TAC_TOE, jax.random.key(1), position))
    expected = slow_tictactoe.random_value(board)
    error = value.std() / np.sqrt(len(value))
    assert abs(value.mean() - expected) <= 4 * error, (value.mean(), expected, error)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "settings",
    [pytest.param({"algorithm": "puct"}, marks=pytest.mark.slow), _GUMBEL],
    ids=lambda s: s["algorithm"],
)
def test_search_finds_the_only_move_that_keeps_a_win_or_draw_in_tictactoe(settings):
    """All 294 boards with a single such move, up to symmetry."""
    only = slow_tictactoe.only_good_moves()
    values = [slow_tictactoe.best_value(board) for board in only]
    assert values.count(1) > 50
    assert values.count(0) > 50
    config = players.rollout_config(600).model_copy(update=settings)
    output = _search(_TIC_TAC_TOE, slow_tictactoe.position(list(only)), config)
    missed = [b for b, action in zip(only, output.action, strict=True) if only[b] != action]
    assert len(missed) <= 3, missed  # 0 to 2 for other keys
