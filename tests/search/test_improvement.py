"""Searches whose result has a closed form, and the settings of the search.

Most of them search `fake_evaluation.Bandit`, where the value of every first move is known.
"""

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pydantic
import pytest
from support.fakes import fake_evaluation
from support.references import mctx_trees, slow_tictactoe

from azo.games import tictactoe
from azo.search import improvement

_NUM_ROWS = 64
_NUM_DRAWS = 4096
_NUM_ERRORS = 4  # standard errors that a mean may be off; the seeds are fixed


@functools.partial(jax.jit, static_argnames=("config", "is_greedy"))
def _search_arms(key, legal, logits, q, root_value, ply, config, is_greedy=False):
    game = fake_evaluation.Bandit(legal.shape[-1])

    def evaluate(key, position):
        # Several leaves of a game are neighbours in a batch.
        leaves = position.ply.shape[0] // legal.shape[0]
        rows = (jnp.repeat(x, leaves, axis=0) for x in (logits, q, root_value))
        return fake_evaluation.arms(*rows)(key, position)

    return improvement.search(
        game,
        evaluate,
        key,
        game.root(legal),
        config=config,
        ply=ply,
        is_greedy=is_greedy,
    )


def _search(config, *, logits, q=0.0, root_value=0.0, legal=True, ply=0, seed=0, is_greedy=False):
    """Searches bandits `[B, A]` with the shape of `logits`; the rest is broadcast to it."""
    logits = jnp.asarray(logits, jnp.float32)
    batch = logits.shape[:1]
    output = _search_arms(
        jax.random.key(seed),
        jnp.asarray(np.broadcast_to(legal, logits.shape)),
        logits,
        jnp.asarray(np.broadcast_to(np.float32(q), logits.shape)),
        jnp.asarray(np.broadcast_to(np.float32(root_value), batch)),
        jnp.asarray(np.broadcast_to(np.int32(ply), batch)),
        config,
        is_greedy,
    )
    return jax.device_get(output)


def _random(seed, *shape, scale=1.0):
    return np.random.default_rng(seed).uniform(-scale, scale, shape).astype(np.float32)


def _softmax(x):
    odds = np.exp(x - x.max(axis=-1, keepdims=True))
    return odds / odds.sum(axis=-1, keepdims=True)


def _nodes(output):
    """Returns the trees with all actions, `[B, N, A]`."""
    return jax.device_get(mctx_trees.to_mctx(output.tree, output.policy.shape[-1]))


def _root_visits(output):
    """Returns `[B, A]`, visits of the nodes behind the root's moves."""
    return _nodes(output).children_visits[:, 0]


def _root_prior(output):
    return _softmax(_nodes(output).children_prior_logits[:, 0])


def _puct(**settings):
    return improvement.SearchConfig(algorithm="puct", has_proofs=False, **settings)


@pytest.mark.parametrize("num_leaves", [1, 4])
def test_sequential_halving_gives_every_phase_its_visits(num_leaves):
    # 8 moves, 32 simulations, log2(8) = 3 phases of about 32 / 3: all 8 once, the best 4 twice
    # each, then the best 2 five times each; these two share the remaining 6. Phases end after 8 and
    # 16 simulations, so no step of four leaves reaches across two of them.
    order = np.argsort(np.argsort(_random(8, _NUM_ROWS, 8), axis=-1), axis=-1)
    config = improvement.SearchConfig(
        num_simulations=32,
        leaves_per_step=num_leaves,
        gumbel={"max_considered_actions": 8, "value_scale": 0.03},
        has_proofs=False,
    )
    output = _search(config, logits=np.zeros((_NUM_ROWS, 8)), q=order / 10, is_greedy=True)
    expected = np.array([1, 1, 1, 1, 3, 3, 11, 11])  # from the worst move to the best
    np.testing.assert_array_equal(_root_visits(output), expected[order])
    np.testing.assert_array_equal(output.action, order.argmax(axis=-1))


def test_gumbel_moves_of_equal_value_are_drawn_from_the_networks_policy():
    # The highest of logits + t * gumbel is a draw from softmax(logits / t). With equal values it
    # stays the highest through every halving.
    logits = np.array([0.5, 0.0, 1.0, -1.0, -0.5], np.float32)
    config = improvement.SearchConfig(
        num_simulations=6,
        gumbel={"max_considered_actions": 3},
        temperature=0.5,
        temperature_plies=10,
    )
    _, early, late = _search_often(config, logits)
    _assert_drawn_from(_softmax(logits / 0.5), early)
    assert (late == 2).all()


def test_puct_moves_are_drawn_by_visits_until_the_temperature_ends():
    logits = np.array([0.5, 0.0, 1.0, -1.0, -0.5], np.float32)
    config = _puct(
        num_simulations=20,
        puct={"root_noise_fraction": 0},
        temperature=2.0,
        temperature_plies=10,
    )
    visits, early, late = _search_often(config, logits)
    assert (visits == visits[0]).all()
    odds = visits[0] ** (1 / 2.0)
    _assert_drawn_from(odds / odds.sum(), early)
    assert (late == visits[0].argmax()).all()


def test_moves_by_q_are_the_best_of_the_much_visited_and_drawn_by_q_before():
    # A high c_puct shares 40 visits as the prior is, 24, 14 and 2: the last move, of highest Q,
    # has less than a tenth of the first's. The temperature is 1 for 10 plies, and then 0. At 1 a
    # difference of 0.1 gives odds of e.
    logits, q = np.log([0.6, 0.35, 0.05]), [-0.1, 0.0, 0.9]
    config = _puct(
        num_simulations=40,
        puct={"c_puct": 50.0, "root_noise_fraction": 0, "move_choice": "q"},
        temperature_plies=10,
    )
    visits, early, late = _search_often(config, logits, q)
    np.testing.assert_array_equal(visits[0], [24, 14, 2])
    _assert_drawn_from(np.array([1, np.e, 0]) / (1 + np.e), early)
    assert (late == 1).all()


def _search_often(config, logits, q=0.0):
    """Returns root visits, and moves of ply 9 and of ply 10, at which the temperature ends."""
    ply = np.where(np.arange(_NUM_DRAWS) < _NUM_DRAWS // 2, 9, 10)
    output = _search(config, logits=np.tile(logits, (_NUM_DRAWS, 1)), q=q, ply=ply)
    return _root_visits(output), output.action[ply == 9], output.action[ply == 10]


def _assert_drawn_from(expected, actions):
    shares = np.bincount(actions, minlength=len(expected)) / len(actions)
    errors = np.sqrt(expected * (1 - expected) / len(actions))
    assert (np.abs(shares - expected) <= _NUM_ERRORS * errors).all(), (shares, expected)


@pytest.mark.parametrize(("alpha", "fraction"), [(None, 0.25), (0.3, 0.5)])
def test_root_noise_is_dirichlet_over_the_legal_moves_with_its_full_share(alpha, fraction):
    # The network's policy is the first move alone, so the other moves get only noise. Shares of
    # Dirichlet(alpha) over k moves have mean 1 / k, variance (1 / k) (1 - 1 / k) / (1 + k alpha).
    num_legal = np.where(np.arange(_NUM_DRAWS) % 2 == 0, 4, 20)
    legal = np.arange(24) < num_legal[:, None]
    logits = np.where(np.arange(24) == 0, 100.0, 0.0) * np.ones((_NUM_DRAWS, 1))
    noise = {"root_noise_fraction": fraction, "root_noise_alpha": alpha}
    config = _puct(num_simulations=1, puct=noise)
    prior = _root_prior(_search(config, logits=logits, legal=legal))
    np.testing.assert_allclose(prior.sum(axis=-1), 1, rtol=1e-5)
    assert (prior[~legal] == 0).all()
    for k in (4, 20):
        noise = prior[num_legal == k][:, :k].copy()
        noise[:, 0] -= 1 - fraction
        noise /= fraction
        concentration = min(1.0, 10 / k) if alpha is None else alpha
        variance = (1 - 1 / k) / k / (1 + k * concentration)
        error = np.sqrt(variance / len(noise))
        np.testing.assert_allclose(noise.mean(axis=0), 1 / k, atol=_NUM_ERRORS * error)
        # The moves of a row depend on each other weakly; the spread of their squares is measured.
        squares = (noise - 1 / k) ** 2
        error = squares.mean(axis=1).std() / np.sqrt(len(noise))
        np.testing.assert_allclose(squares.mean(), variance, atol=_NUM_ERRORS * error)


def test_the_result_holds_the_networks_evaluation_without_noise():
    logits, root_value = _random(12, _NUM_ROWS, 8, scale=2), _random(13, _NUM_ROWS)
    legal = np.arange(8) != np.arange(_NUM_ROWS)[:, None] % 8
    config = _puct(num_simulations=2, prior_temperature=1.5, puct={"root_noise_fraction": 0.5})
    output = _search(config, logits=logits, legal=legal, root_value=root_value)
    prior = _softmax(np.where(legal, logits / 1.5, -np.inf))
    np.testing.assert_allclose(output.prior, prior, atol=1e-6)
    assert np.abs(_root_prior(output) - prior).max() > 0.1  # the search itself had noise
    legal_mass = np.where(legal, _softmax(logits), 0).sum(axis=-1)
    np.testing.assert_allclose(output.legal_mass, legal_mass, atol=1e-6)
    np.testing.assert_array_equal(output.raw_value, root_value)


@pytest.mark.parametrize("algorithm", ["puct", "gumbel"])
def test_greedy_searches_ignore_the_key_and_flatten_the_prior_at_every_node(algorithm):
    config = improvement.SearchConfig(algorithm=algorithm, num_simulations=8, prior_temperature=2.5)
    logits, q = _random(10, _NUM_ROWS, 7, scale=3), _random(11, _NUM_ROWS, 7, scale=0.1)
    one, other = (_search(config, logits=logits, q=q, seed=seed, is_greedy=True) for seed in (0, 1))
    jax.tree.map(np.testing.assert_array_equal, one, other)
    expected = np.broadcast_to(_softmax(logits / 2.5)[:, None], (_NUM_ROWS, 9, 7))
    np.testing.assert_allclose(_softmax(_nodes(one).children_prior_logits), expected, atol=1e-6)


@pytest.mark.parametrize("algorithm", ["puct", "gumbel"])
def test_searches_of_finished_games_are_finite(algorithm):
    boards = slow_tictactoe.boards()[::15]
    config = improvement.SearchConfig(algorithm=algorithm, num_simulations=20)
    position = slow_tictactoe.position(boards)
    output = fake_evaluation.search(tictactoe.TicTacToe(), position, config)
    over = np.array([slow_tictactoe.result(board) is not None for board in boards])
    assert over.sum() > 20
    for leaf in jax.tree.leaves(output):
        assert np.isfinite(np.asarray(leaf)[over]).all()
    np.testing.assert_allclose(output.policy.sum(axis=-1), 1, rtol=1e-5)


@pytest.mark.parametrize("shape", [(), (2, 3)])
def test_positions_without_exactly_one_batch_axis_are_refused(shape):
    game, config = tictactoe.TicTacToe(), improvement.SearchConfig()
    message = rf"batch shape {re.escape(str(shape))}: a search takes \[B\], such as game.start\(1\)"
    with pytest.raises(ValueError, match=message):
        improvement.search(game, None, jax.random.key(0), game.start(*shape), config=config)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"num_simulations": 30},
            "num_simulations is 30, but should be a multiple of leaves_per_step, 4",
        ),
        (
            {"virtual_loss": 3.0},
            "virtual_loss is 3, but should be 1 with algorithm 'gumbel', which counts whole visits",
        ),
    ],
)
def test_settings_that_do_not_go_together_are_refused(wrong, message):
    with pytest.raises(pydantic.ValidationError) as caught:
        improvement.SearchConfig(leaves_per_step=4, **wrong)
    assert str(caught.value.errors()[0]["ctx"]["error"]) == message
