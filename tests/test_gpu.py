"""What has to hold on an accelerator too: `JAX_PLATFORMS=cuda,cpu pytest -m gpu`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tiny_run

from azo.games import othello
from azo.learning import convolution

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
        def ply(position, key):
            action = game.random_action(key, position)
            step = game.step(position, action)
            return step.position, (action, game.pack(step.position), step.reward)

        keys = jax.random.split(jax.random.key(seed), 64)
        return jax.lax.scan(ply, game.start(256), keys)[1]

    for here, there in zip(jax.jit(play)(0), on_cpu(play, 0), strict=True):
        np.testing.assert_array_equal(here, there)


def test_gradients_of_the_convolution_are_those_of_the_cpu():
    images, kernel = jnp.ones((64, 8, 8, 4)), jnp.arange(3.0 * 3 * 4 * 5).reshape(3, 3, 4, 5) / 180

    def total(images, kernel):
        return jnp.square(convolution.convolve(images, kernel)).mean()

    gradient = jax.grad(total, argnums=(0, 1))
    for here, there in zip(
        jax.jit(gradient)(images, kernel), on_cpu(gradient, images, kernel), strict=True
    ):
        # Accelerators multiply float32 with fewer bits by default.
        np.testing.assert_allclose(here, there, rtol=2e-2, atol=1e-4)


def test_an_iteration_runs_and_learns():
    state = tiny_run.begin(1)
    for _ in range(4):
        state, found = tiny_run.iteration(1)(state)
    assert int(state.iteration) == 4
    assert int(found.replay_size) > 0
    assert np.isfinite(float(found.losses.policy))
