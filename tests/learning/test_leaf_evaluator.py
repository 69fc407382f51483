"""Exact leaves against a plain minimax, and the other leaves against the network."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import slow_minimax, tiny_run

from azo.games import othello, tictactoe
from azo.learning import leaf_evaluator, network
from azo.search import improvement


def unsure(key, position):
    """In place of a network: 0.125 for every position."""
    del key
    count = position.player.lower.shape[0]
    return improvement.Evaluation(jnp.zeros((count, 17)), jnp.full(count, 0.125))


def random_positions(game, count):
    """Returns one position of each of many random games, at all stages."""

    def play(position, key):
        after = game.step(position, game.random_action(key, position)).position
        return after, after

    keys = jax.random.split(jax.random.key(0), 14)
    _, every = jax.lax.scan(play, game.start(count), keys)
    rows = np.arange(count)
    return jax.tree.map(lambda x: x[rows % 14, rows], every)


@pytest.mark.parametrize("is_reversed", [False, True])
def test_values_near_the_end_are_those_of_minimax_and_others_the_network_s(is_reversed):
    game = othello.Othello(4, is_reversed)
    position = random_positions(game, 84)
    evaluate = jax.jit(leaf_evaluator.exact_near_the_end(game, unsure, 5))
    values = np.asarray(evaluate(jax.random.key(0), position).value)
    empties = np.asarray(game.num_empties(position))
    assert {5, 6} <= set(empties.tolist())
    is_near = empties <= 5
    planes = np.asarray(game.planes(position)).astype(np.int8)
    boards = (planes[..., 0] - planes[..., 1])[is_near]
    scores = slow_minimax.scores(boards, is_reversed=is_reversed)
    np.testing.assert_array_equal(values[is_near], (-1 if is_reversed else 1) * np.sign(scores))
    np.testing.assert_array_equal(values[~is_near], 0.125)


@pytest.mark.slow
def test_a_search_is_right_about_an_end_that_the_network_misjudges():
    """With every leaf exact, the root's value after many simulations is the exact result."""
    game = othello.Othello(4)
    position = random_positions(game, 84)
    rows = np.flatnonzero(
        (np.asarray(game.num_empties(position)) == 5) & ~np.asarray(game.is_over(position))
    )
    position = jax.tree.map(lambda x: x[rows], position)
    config = improvement.SearchConfig(algorithm="puct", num_simulations=200, exact_empties=5)
    judge = leaf_evaluator.exact_near_the_end(game, unsure, config.exact_empties)
    values = jax.jit(
        lambda key, position: improvement.search(
            game, judge, key, position, config=config, is_greedy=True
        )
    )(jax.random.key(1), position)
    exact = judge(jax.random.key(0), position).value
    assert {-1.0, 1.0} <= set(np.asarray(exact).tolist())
    np.testing.assert_allclose(values.value, exact, atol=0.2)
    after = game.play(position, values.action)
    np.testing.assert_array_equal(-judge(jax.random.key(0), after).value, exact)


@pytest.mark.slow
def test_the_setting_decides_and_is_for_othello():
    settings, variables = tiny_run.settings(), tiny_run.trained().variables()
    search = settings.search.model_copy(update={"exact_empties": 3})
    with pytest.raises(ValueError) as error:
        leaf_evaluator.evaluator(tictactoe.TicTacToe(), settings.network, variables, search)
    assert str(error.value) == "search.exact_empties is for Othello, not for tictactoe"

    game = othello.Othello(4)
    variables = network.init(game, settings.network, jax.random.key(0))
    position = random_positions(game, 28)
    plain, exact = (
        leaf_evaluator.evaluator(game, settings.network, variables, one)(
            jax.random.key(0), position
        )
        for one in (settings.search, search)
    )
    np.testing.assert_array_equal(plain.prior_logits, exact.prior_logits)
    is_near = np.asarray(game.num_empties(position)) <= 3
    assert 0 < is_near.sum() < 28
    np.testing.assert_array_equal(plain.value[~is_near], exact.value[~is_near])
    assert set(np.asarray(exact.value[is_near]).tolist()) <= {-1.0, 0.0, 1.0}
