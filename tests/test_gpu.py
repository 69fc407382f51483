"""What has to hold on an accelerator too: `JAX_PLATFORMS=cuda,cpu pytest -m gpu`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.builders import random_games, tiny_run

from azo.games import othello
from azo.networks import initial_variables, network
from azo.networks.kernels import convolution
from azo.search import settings
from azo.search.kernels import check
from azo.solver.device import kernel_check

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module", autouse=True)
def _needs_accelerator():
    if jax.default_backend() == "cpu":
        pytest.skip("no accelerator: set JAX_PLATFORMS=cuda,cpu")


def on_cpu(function, *arguments):
    with jax.default_device(jax.devices("cpu")[0]):
        return jax.jit(function)(*jax.device_get(arguments))


def test_random_games_are_the_same_as_on_the_cpu():
    game = othello.Othello(8)

    def play(seed):
        return random_games.scanned(game, 256, jax.random.key(seed))

    jax.tree.map(np.testing.assert_array_equal, jax.jit(play)(0), on_cpu(play, 0))


# NVIDIA GPUs take float32 factors as TF32 by default, TPUs as bfloat16.
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_convolution_and_its_gradients_are_those_of_the_cpu(precision):
    images_key, kernel_key, weight_key = jax.random.split(jax.random.key(0), 3)
    images = jax.random.normal(images_key, (8, 8, 64, 2))  # as few channels as the stem has
    kernel = jax.random.normal(kernel_key, (3, 3, 2, 32))
    weight = jax.random.normal(weight_key, (8, 8, 64, 32))

    def products(precision):
        def loss(images, kernel, weight):
            actual = convolution.convolve(images, kernel, None, precision)
            return (actual * weight).sum(), actual

        return jax.grad(loss, argnums=(0, 1), has_aux=True)

    actual = jax.jit(products(precision))(images, kernel, weight)
    expected = on_cpu(products("float32"), images, kernel, weight)
    for here, there in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        assert here.dtype == jnp.float32
        error = np.linalg.norm(np.asarray(here) - np.asarray(there)) / np.linalg.norm(there)
        assert error < 1e-2  # three roundings to bfloat16 are off by 0.3 % together


def test_bfloat16_products_are_summed_in_float32():
    # In bfloat16 256 + 1 is 256.
    images, kernel = jnp.ones((3, 3, 64, 128)), jnp.ones((3, 3, 128, 64))
    actual = jax.jit(convolution.convolve, static_argnums=3)(images, kernel, None, "bfloat16")
    expected = np.array([[512, 768, 512], [768, 1152, 768], [512, 768, 512]])
    expected = np.broadcast_to(expected[..., None, None], actual.shape)
    np.testing.assert_allclose(actual, expected, rtol=2**-8)  # the result is rounded


def test_the_same_network_says_about_what_it_says_on_the_cpu():
    game = othello.Othello(8)
    config = network.NetworkConfig(
        kind="residual", num_blocks=5, num_channels=128
    )  # in float32 on the CPU
    position = jax.tree.map(lambda x: x[20], random_games.play(game, 64, seed=5).position)
    variables = on_cpu(lambda seed: initial_variables.init(game, config, jax.random.key(seed)), 0)

    def logits(variables, position):
        folded_network, folded = network.fold(network.build(game, config), variables)
        return folded_network.apply(folded, game.planes(position)).prior_logits

    actual = np.asarray(jax.jit(logits)(jax.device_get(variables), position))
    expected = np.asarray(on_cpu(logits, variables, position))
    assert np.linalg.norm(actual - expected) < 0.05 * np.linalg.norm(expected)


def test_an_iteration_runs_and_learns():
    state = tiny_run.begin(1)
    for _ in range(4):
        state, results = tiny_run.iteration(1)(state, 0.0)
    assert int(state.iteration) == 4
    assert int(results.replay_size) > 0
    assert np.isfinite(float(results.others["learner/policy_loss"]))


@pytest.mark.parametrize("algorithm", ["gumbel", "puct"])
def test_kernels_grow_the_trees_and_give_the_scores_of_loops(algorithm):
    game = othello.Othello(8)
    if jax.default_backend() != "gpu":
        pytest.skip("the kernels are for NVIDIA GPUs")
    config = settings.SearchConfig(algorithm=algorithm, num_simulations=32)
    assert check.difference(game, config) == ""
    assert kernel_check.difference(game) == ""
