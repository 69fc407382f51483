"""The search for programs: what it makes of evaluators that give infinities and NaN."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import azo

GAME = azo.TicTacToe()
INF, NAN = np.inf, np.nan
ALGORITHMS = [
    azo.SearchConfig(num_simulations=8),
    azo.SearchConfig(num_simulations=8, has_proofs=False),
    azo.SearchConfig(
        algorithm="puct", num_simulations=8, puct=azo.PuctConfig(root_noise_fraction=0.0)
    ),
    azo.SearchConfig(algorithm="puct_over_visits", num_simulations=12),
]


@functools.lru_cache
def _evaluator(logits, value=0.0):
    def evaluate(key, position):
        del key
        batch = position.player.shape[0]
        rows = jnp.broadcast_to(jnp.array(logits, jnp.float32), (batch, 9))
        return azo.Evaluation(rows, jnp.full(batch, value, jnp.float32))

    return evaluate


def _search(logits, value=0.0, config=ALGORITHMS[0], start=None):
    position = GAME.start(2) if start is None else start
    evaluate = _evaluator(tuple(logits), value)
    return azo.search_moves(GAME, evaluate, jax.random.key(0), position, config=config)


@pytest.mark.thorough
@pytest.mark.parametrize("config", ALGORITHMS, ids=lambda config: config.algorithm)
@pytest.mark.parametrize(
    ("logits", "prior"),
    [
        ([0, INF, 0, 0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0, 0, 0]),
        ([5, INF, -INF, 0, INF, 0, 0, 0, 0], [0, 0.5, 0, 0, 0.5, 0, 0, 0, 0]),
        ([-INF] * 9, [1 / 9] * 9),
        ([INF] * 9, [1 / 9] * 9),
        ([-INF] * 8 + [0], [0] * 8 + [1]),
        ([-INF, 0, 0] + [-INF] * 6, [0, 0.5, 0.5, 0, 0, 0, 0, 0, 0]),
    ],
)
def test_infinite_logits_have_a_defined_prior_and_a_finite_result(config, logits, prior):
    result = _search(logits, config=config)
    np.testing.assert_allclose(result.prior[0], prior, atol=1e-6)
    for name in ("policy", "value", "prior", "legal_mass", "raw_value"):
        assert np.isfinite(getattr(result, name)).all(), name
    np.testing.assert_allclose(result.policy.sum(axis=1), 1, rtol=1e-5)
    if max(prior) > 0.9:
        assert result.action[0] == np.argmax(prior)


@pytest.mark.thorough
@pytest.mark.parametrize("config", ALGORITHMS, ids=lambda config: config.algorithm)
@pytest.mark.parametrize(
    ("logits", "value"),
    [([NAN] + [0.0] * 8, 0.0), ([NAN] * 9, 0.0), ([0.0] * 9, NAN), ([0.0] * 9, INF)],
)
def test_nan_is_refused_in_one_line(config, logits, value):
    with pytest.raises(ValueError, match="evaluate gives NaN as the logit of a legal move"):
        _search(logits, value, config)


@pytest.mark.thorough
def test_nan_for_illegal_moves_changes_nothing():
    taken = GAME.step(GAME.start(2), jnp.array([4, 4])).position
    plain = _search([0.0] * 9, start=taken)
    for odd in (NAN, INF, -INF):
        logits = [0.0] * 4 + [odd] + [0.0] * 4
        found = _search(logits, start=taken)
        for name in ("action", "policy", "value", "prior"):
            np.testing.assert_array_equal(getattr(plain, name), getattr(found, name))
        assert np.isfinite(found.legal_mass).all()


def test_a_traced_search_has_nan_values_where_an_evaluation_is_nan():
    search = jax.jit(functools.partial(_search, (NAN,) + (0.0,) * 8))
    assert np.isnan(search().value).all()
