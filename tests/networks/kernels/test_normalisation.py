"""Batch normalisation with skip and rectifier, against flax's and its gradient by JAX."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from azo.networks.kernels import normalisation

_SHAPE = (3, 4, 6, 5)  # rows, columns, examples, channels


class Reference(nn.Module):
    """The same in flax's terms."""

    is_training: bool

    @nn.compact
    def __call__(self, x, skip=None, *, rectify=True):
        norm = nn.BatchNorm(
            use_running_average=not self.is_training, momentum=0.95, epsilon=1e-5, name="norm"
        )
        x = norm(x)
        x = x if skip is None else x + skip
        return nn.relu(x) if rectify else x


class Ours(nn.Module):
    is_training: bool

    @nn.compact
    def __call__(self, x, skip=None, *, rectify=True):
        norm = normalisation.BatchNorm(self.is_training, None, name="norm")
        return norm(x, skip, rectify=rectify)


def some_variables():
    keys = jax.random.split(jax.random.key(1), 4)
    scale, bias, mean, deviation = (jax.random.normal(key, _SHAPE[-1:]) for key in keys)
    averages = {"norm": {"mean": mean, "var": deviation**2 + 0.1}}
    return {"params": {"norm": {"scale": scale, "bias": bias}}, "batch_stats": averages}


def some_input(seed):
    # Off centre and of several sizes, so that mean and variance matter.
    x = jax.random.normal(jax.random.key(seed), _SHAPE)
    return x * jnp.arange(1.0, 6.0)[None, None, None] + 3


def run(module, variables, x, skip, rectify):
    """Returns the result and the new averages."""
    actual, updated = module.apply(variables, x, skip, rectify=rectify, mutable=["batch_stats"])
    return actual, updated["batch_stats"]


def assert_close(actual, expected):
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4), actual, expected
    )


_ways = pytest.mark.parametrize(
    ("has_skip", "rectify"), [(False, True), (True, True), (False, False), (True, False)]
)


@_ways
@pytest.mark.parametrize("is_training", [False, True])
def test_results_and_averages_are_those_of_flax(is_training, has_skip, rectify):
    skip = some_input(3) if has_skip else None
    ours, reference = (
        run(module(is_training), some_variables(), some_input(2), skip, rectify)
        for module in (Ours, Reference)
    )
    assert_close(ours, reference)


def gradients(module, weights, skip, rectify):
    def total(params, x, skip):
        variables = {"params": params, "batch_stats": some_variables()["batch_stats"]}
        return (run(module(True), variables, x, skip, rectify)[0] * weights).sum()

    return jax.jit(jax.grad(total, (0, 1, 2) if skip is not None else (0, 1)))(
        some_variables()["params"], some_input(2), skip
    )


@_ways
def test_gradients_are_those_of_flax(has_skip, rectify):
    weights = jax.random.normal(jax.random.key(4), _SHAPE)
    skip = some_input(3) if has_skip else None
    assert_close(*(gradients(module, weights, skip, rectify) for module in (Ours, Reference)))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("place", [(0, 0, 0, 0), (1, 2, 3, 0)], ids=["first", "other"])
def test_a_batch_that_is_not_finite_gives_nan_and_not_numbers(value, place):
    x = some_input(2).at[place].set(value)
    actual, _ = run(Ours(is_training=True), some_variables(), x, None, rectify=False)
    assert jnp.isnan(actual[..., 0]).all()
