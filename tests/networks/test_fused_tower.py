"""The tower that accelerators use in play, computed on the CPU."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import thorough
from support.builders import random_games

from azo.games import othello
from azo.networks import initial_variables, network
from azo.networks.kernels import fused_tower

GAME = othello.Othello(6)
KEY = jax.random.key(0)
CONFIGS = {
    "flat": {},
    "pooled": {"heads": "pooled"},
    "mlp": {"policy_network": "mlp", "policy_mlp_units": (16,)},
    "shortcut": {"block_channels": (8, 16)},
    "signed": {"input": "signed_plane"},
    "plain": {"normalisation": "none"},
    "hidden": {"policy_units": 12},
}


def folded(name):
    """Returns a folded network whose weights, statistics too, are not those of the start."""
    config = network.NetworkConfig(
        kind="residual", **{"num_blocks": 2, "num_channels": 8} | CONFIGS[name]
    )
    variables = initial_variables.init(GAME, config, KEY)
    leaves, tree = jax.tree.flatten(variables)
    keys = jax.random.split(jax.random.key(1), len(leaves))
    moved = [x + 0.2 * jax.random.uniform(k, x.shape) for x, k in zip(leaves, keys, strict=True)]
    return network.fold(network.build(GAME, config), jax.tree.unflatten(tree, moved))


@pytest.mark.parametrize("name", thorough.after_first([*CONFIGS]))
@pytest.mark.parametrize(("dtype", "tolerance"), [(jnp.float32, 1e-5), (jnp.bfloat16, 0.05)])
def test_it_is_the_same_network(name, dtype, tolerance, monkeypatch):
    prepare = fused_tower.prepare
    monkeypatch.setattr(fused_tower, "prepare", lambda *words: prepare(*words, dtype))
    model, variables = folded(name)
    positions = random_games.positions(GAME, 16)
    planes = network.planes_of(GAME, model.config, positions)
    expected = jax.jit(model.apply)(variables, planes)
    actual = jax.jit(model.on_accelerator(variables))(planes)
    for one, other in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        assert one.dtype == jnp.float32
        scale = np.abs(other).max() + 1
        np.testing.assert_allclose(one, other, atol=tolerance * scale)


@pytest.mark.thorough
def test_only_folded_networks_of_lower_precision_use_it(monkeypatch):
    monkeypatch.setattr(fused_tower, "apply", None)

    def evaluate(*, is_folded, **settings):
        config = network.NetworkConfig(kind="residual", num_blocks=1, num_channels=8, **settings)
        model, variables = network.build(GAME, config), initial_variables.init(GAME, config, KEY)
        if is_folded:
            model, variables = network.fold(model, variables)
        return model.on_accelerator(variables)(network.planes_of(GAME, config, GAME.start(2)))

    evaluate(is_folded=False)
    evaluate(is_folded=True, precision="float32")
    with pytest.raises(TypeError, match="not callable"):
        evaluate(is_folded=True)


def layer(rng, *shape):
    kernel = rng.standard_normal(shape).astype(np.float32) / np.sqrt(np.prod(shape[1:]))
    return fused_tower.Layer(jnp.array(kernel), jnp.array(rng.standard_normal(shape[0]) / 10))


def blocks_of(rng, widths):
    """Blocks between these numbers of channels; a change of channels needs a shortcut."""
    pairs = itertools.pairwise(widths)
    return [
        fused_tower.Block(
            layer(rng, after, 3, 3, before),
            layer(rng, after, 3, 3, after),
            layer(rng, after, 1, 1, before) if before != after else None,
        )
        for before, after in pairs
    ]


@pytest.mark.parametrize("num_blocks", [1, 2, 5])
def test_a_loop_over_equal_blocks_gives_what_they_give_in_turn(num_blocks):
    rng = np.random.default_rng(num_blocks)
    blocks = blocks_of(rng, [6] * (num_blocks + 1))
    x = jnp.array(rng.standard_normal((3, 8, 8, 6)), jnp.float32)
    expected = fused_tower._in_turn(x, blocks)
    assert jnp.abs(expected).max() > 0.1
    np.testing.assert_allclose(fused_tower._in_loop(x, blocks), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(jax.jit(fused_tower._after_blocks)(x, blocks), expected)


def test_on_a_tpu_equal_blocks_are_one_loop_and_others_are_not():
    rng = np.random.default_rng(0)
    x = jnp.zeros((2, 8, 8, 6))

    def num_convolutions(widths, platform):
        traced = jax.jit(fused_tower._after_blocks).trace(x, blocks_of(rng, widths))
        return traced.lower(lowering_platforms=(platform,)).as_text().count("stablehlo.convolution")

    assert num_convolutions([6] * 7, "tpu") == 2
    assert num_convolutions([6] * 7, "cuda") == 12
    assert num_convolutions([6, 6, 8], "tpu") == 5  # the last one is the shortcut
