"""Muon: which parameters it learns, and its steps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from azo.games import othello
from azo.learning import learner, network, network_config, optimisers

RATE = 0.1
CONFIG = learner.LearnerConfig(
    optimiser="muon", learning_rate=RATE, warmup_steps=0, weight_decay=0.5
)
PATTERNS = network_config.PatternsConfig(hidden_units=(6, 5), has_move_counts=True)


def hidden(config):
    """Returns the names of the layers with a kernel that Muon learns."""
    params = network.shapes(othello.Othello(6), config)["params"]
    kernels = optimisers.hidden_kernels(params)
    return {name for name in params if jax.tree.leaves(kernels[name])}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            {"num_blocks": 1, "policy_units": 4},
            {"stem_kernel", "block0_first_kernel", "block0_second_kernel", "policy_projection"}
            | {"policy_hidden", "value_projection", "value_hidden"},
        ),
        ({"kind": "patterns", "patterns": PATTERNS}, {"hidden0", "hidden1"}),
    ],
)
def test_muon_learns_the_kernels_of_all_layers_but_the_outputs(settings, expected):
    assert hidden(network.NetworkConfig(**settings)) == expected


def first_step(gradient, config=CONFIG):
    """Returns the first step of parameters of 1."""
    optimiser = learner.make_optimiser(config, network.NetworkConfig())
    params = jax.tree.map(jnp.ones_like, gradient)
    updates, state = optimiser.update(gradient, optimiser.init(params), params)
    return updates, state


def draw(*shape):
    return jnp.asarray(np.random.default_rng(0).normal(size=shape), jnp.float32)


def test_steps_of_a_hidden_kernel_are_as_large_as_those_of_adamw():
    step, _ = first_step({"stem_kernel": draw(3, 3, 4, 6)})
    matrix = np.asarray(step["stem_kernel"]) + 0.5 * RATE  # no decay
    np.testing.assert_allclose(np.sqrt(np.square(matrix).mean()), 0.2 * RATE, rtol=0.2)


def test_other_parameters_have_steps_of_adamw_and_hidden_kernels_alone_decay():
    output, kernel = {"kernel": draw(4, 3), "bias": draw(3)}, jnp.zeros((3, 3, 4, 6))
    gradient = {"score_output": output, "stem_norm": {"scale": jnp.zeros(3)}}
    step, _ = first_step(gradient | {"stem_kernel": kernel})
    np.testing.assert_allclose(step["stem_kernel"], -0.5 * RATE, rtol=1e-5)
    for name, gradient in output.items():
        # The first step of Adam with Nesterov's momentum: (1 + 0.9 * 0.1 / 0.19) rates.
        expected = -1.4737 * RATE * np.sign(gradient)
        np.testing.assert_allclose(step["score_output"][name], expected, rtol=1e-3)
    np.testing.assert_array_equal(step["stem_norm"]["scale"], 0)


def test_tables_of_patterns_keep_their_optimiser():
    gradient = {"tables": draw(1, 7, 20), "hidden0": {"kernel": draw(4, 6)}}
    step, _ = first_step(gradient)
    other, _ = first_step(gradient, CONFIG.model_copy(update={"optimiser": "adamw"}))
    np.testing.assert_array_equal(step["tables"], other["tables"])
    assert np.abs(step["hidden0"]["kernel"] - other["hidden0"]["kernel"]).max() > 0.1 * RATE
