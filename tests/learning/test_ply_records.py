"""Policies of one byte an action."""

import jax.numpy as jnp
import numpy as np
import pytest

from azo.learning import ply_records


@pytest.mark.parametrize("concentration", [0.05, 0.5, 5.0])
def test_a_policy_of_bytes_is_off_by_at_most_half_a_step(concentration):
    num_actions = 17
    rng = np.random.default_rng(0)
    policies = rng.dirichlet(np.full(num_actions, concentration), 500).astype(np.float32)
    quantised = ply_records.quantise(jnp.asarray(policies))
    assert quantised.dtype == jnp.uint8
    restored = np.asarray(ply_records.restore(quantised))
    np.testing.assert_allclose(restored.sum(axis=-1), 1, atol=1e-6)
    # Half a step of each entry, and of all others by way of the sum, which is at least 255.
    bound = (0.5 + policies * 0.5 * num_actions) / 255
    assert (np.abs(restored - policies) <= bound + 1e-6).all()


def test_a_certain_policy_and_visits_of_a_few_simulations_come_back_exactly():
    policies = jnp.array([[0.0, 1.0, 0.0], [1 / 3, 1 / 3, 1 / 3], [0.0, 0.5, 0.5]])
    restored = ply_records.restore(ply_records.quantise(policies))
    np.testing.assert_allclose(restored, policies, atol=1e-7)
