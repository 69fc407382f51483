"""Kinds of network beyond the default of `test_network`."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.builders.random_games import positions

from azo.games import tictactoe
from azo.networks import initial_variables, network

GAME = tictactoe.TicTacToe()
SMALL = {
    "kind": "residual",
    "num_blocks": 1,
    "num_channels": 3,
    "value_channels": 4,
    "value_units": 8,
}
KINDS = {
    "widening": {"block_channels": (3, 4), "policy_units": 5},
    "pooled-heads": {"heads": "pooled", "policy_units": 5, "policy_channels": 4},
    "mlp": {"policy_network": "mlp", "policy_mlp_units": (7, 5), "input": "signed_plane"},
    "plain": {},
}


def make(kind, **settings):
    return network.NetworkConfig(**SMALL | KINDS[kind] | settings)


def seasoned(config):
    """Variables in which no scale, bias, mean or variance is as it was at the beginning."""
    rng = np.random.default_rng(0)

    def season(path, leaf):
        noise = rng.normal(size=leaf.shape).astype(np.float32)
        name = path[-1].key
        if name in ("var", "scale"):
            return jnp.asarray(np.exp(0.5 * noise))
        if name.endswith("kernel"):
            return jnp.asarray(noise * np.sqrt(2 / np.prod(leaf.shape[:-1]), dtype=np.float32))
        return jnp.asarray(0.3 * np.abs(noise))  # few units that are always 0

    return jax.tree_util.tree_map_with_path(season, network.shapes(GAME, config))


@pytest.mark.parametrize(
    "kind", ["mlp", "pooled-heads", pytest.param("widening", marks=pytest.mark.slow)]
)
def test_folding_leaves_every_kind_of_network_the_same_function(kind):
    config = make(kind)
    net, variables = network.build(GAME, config), seasoned(config)
    planes = GAME.planes(positions(GAME, 3))

    @jax.jit
    def evaluate(variables):
        folded = network.fold(net, variables)
        assert set(folded[1]) == {"params"}
        plain, same = (n.apply(v, planes) for n, v in [(net, variables), folded])
        seen = network.evaluator(GAME, *folded)(jax.random.key(0), positions(GAME, 3))
        return plain, same, seen

    plain, same, seen = evaluate(variables)
    close = functools.partial(np.testing.assert_allclose, atol=1e-4)  # sums in another order
    jax.tree.map(close, plain, same)
    close(seen.prior_logits, plain.prior_logits)
    close(seen.value, plain.value)
    assert plain.prior_logits.std(axis=0).min() > 1e-2  # or the comparison says little
    assert plain.value.std() > 1e-2


def convolved(x, kernel, bias):
    """A same-size 3x3 convolution of `[M, rows, columns, C]`."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    return np.einsum("mijcrk,rkco->mijo", windows, kernel) + bias


def dense(x, layer):
    return x @ layer["kernel"] + layer["bias"]


def relu(x):
    return np.maximum(x, 0)


def slow_tower(params, x, num_blocks):
    """The tower of a network without normalisation, in float64."""

    def step(x, name):
        return convolved(x, params[f"{name}_kernel"], params[f"{name}_bias"])

    x = relu(step(x, "stem"))
    for number in range(num_blocks):
        block = f"block{number}"
        y = relu(step(x, f"{block}_first"))
        y = step(y, f"{block}_second")
        if f"{block}_shortcut" in params:
            x = x @ params[f"{block}_shortcut"]["kernel"] + params[f"{block}_shortcut_bias"]
        x = relu(x + y)
    return x


def outputs(config):
    """Returns a network's outputs, its parameters in float64, and what the tower gives."""
    variables, planes = seasoned(config), GAME.planes(positions(GAME, 3))
    apply = network.build(GAME, config).apply
    params = jax.tree.map(lambda x: np.asarray(x, np.float64), variables["params"])
    features = slow_tower(params, np.asarray(planes, np.float64), config.num_blocks)
    return jax.jit(apply)(variables, planes), params, features


def projected(params, name, x):
    return relu(x @ params[f"{name}_projection"]["kernel"] + params[f"{name}_projection_bias"])


def assert_all_close(actual, **expected):
    for name, numbers in expected.items():
        np.testing.assert_allclose(getattr(actual, name), numbers, atol=1e-5, err_msg=name)


def test_towers_and_heads_give_what_a_plain_network_gives():
    config = make("plain", policy_units=5, num_blocks=2, normalisation="none")
    actual, params, features = outputs(config.model_copy(update={"block_channels": (3, 4)}))
    p = projected(params, "policy", features).reshape(8, -1)
    logits = dense(relu(dense(p, params["policy_hidden"])), params["policy_logits"])
    v = projected(params, "value", features)
    hidden = relu(dense(v.reshape(8, -1), params["value_hidden"]))
    score_logits = dense(hidden, params["score_output"])
    lost, _, won = (np.exp(score_logits) / np.exp(score_logits).sum(axis=1)[:, None]).T
    value = won - lost
    assert_all_close(
        actual, prior_logits=logits, score_logits=score_logits, value=value, score=value
    )


def test_pooled_heads_give_what_a_plain_network_gives():
    config = make("pooled-heads", normalisation="none")
    actual, params, features = outputs(config)
    untrained = initial_variables.init(GAME, config, jax.random.key(0))["params"]
    assert not untrained["policy_pooled"]["kernel"].any()

    def pooled(x):
        return np.concatenate([x.mean(axis=(1, 2)), x.max(axis=(1, 2))], axis=1)

    p = projected(params, "policy", features)
    p = relu(p + (pooled(p) @ params["policy_pooled"]["kernel"])[:, None, None])
    logits = relu(dense(p, params["policy_hidden"])) @ params["policy_logits"]["kernel"]
    v = projected(params, "value", features)
    score_logits = dense(relu(dense(pooled(v), params["value_hidden"])), params["score_output"])
    assert_all_close(actual, prior_logits=logits.reshape(8, 9), score_logits=score_logits)
    assert logits.std(axis=0).min() > 1e-2


def test_a_pooled_policy_sees_no_board_of_one_size():
    with pytest.raises(ValueError, match="'mlp' sees a board of one size: set heads to 'flat', or"):
        make("mlp", heads="pooled")


def test_a_policy_of_dense_layers_sees_the_board_and_nothing_of_the_tower():
    config = make("mlp")
    variables, planes = seasoned(config), GAME.planes(positions(GAME, 3))
    actual = jax.jit(network.build(GAME, config).apply)(variables, planes).prior_logits
    params = jax.tree.map(lambda x: np.asarray(x, np.float64), variables["params"])
    own, other = np.moveaxis(np.asarray(planes, np.float64), -1, 0)
    p = (own - other).reshape(8, 9)
    for layer in range(2):
        p = relu(dense(p, params[f"policy_mlp{layer}"]))
    np.testing.assert_allclose(actual, dense(p, params["policy_logits"]), atol=1e-5)
