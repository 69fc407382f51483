"""Kinds of network beyond the default of `test_network`."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import random_games

from azo.games import othello, tictactoe
from azo.learning import network

GAME = tictactoe.TicTacToe()
SMALL = {"num_blocks": 1, "num_channels": 3, "value_channels": 4, "value_units": 8}
KINDS = {
    "widening": {"block_channels": (3, 4), "policy_units": 5},
    "pooled-heads": {"heads": "pooled", "policy_units": 5, "policy_channels": 4},
    "mlp": {"policy_network": "mlp", "policy_mlp_units": (7, 5), "input": "signed_plane"},
    "final": {"has_ownership_head": True},
}
PYTHONNUT = network.NetworkConfig(
    num_channels=16,
    block_channels=(32, 64, 128, 128, 128),
    policy_channels=16,
    value_channels=16,
    policy_units=256,
    value_units=256,
)
SIX_BY_SIX = network.NetworkConfig(
    num_blocks=2, num_channels=64, input="signed_plane", policy_network="mlp"
)


def make(kind, **settings):
    return network.NetworkConfig(**SMALL | KINDS[kind] | settings)


@functools.cache
def positions():
    games = random_games.play(GAME, 8, seed=5)
    return jax.tree.map(lambda x: jnp.asarray(x[3]), games.position)


def shapes(game, config):
    """Variables as `network.init` gives them, without their numbers, which take a compilation."""
    return jax.eval_shape(functools.partial(network.init, game, config), jax.random.key(0))


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

    return jax.tree_util.tree_map_with_path(season, shapes(GAME, config))


@pytest.mark.parametrize(
    "kind",
    [
        "mlp",
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("widening", "final")),
        "pooled-heads",
    ],
)
def test_folding_leaves_every_kind_of_network_the_same_function(kind):
    config = make(kind)
    net, variables = network.build(GAME, config), seasoned(config)
    planes = GAME.planes(positions())

    @jax.jit
    def evaluate(variables):
        folded = network.fold(net, variables)
        assert set(folded[1]) == {"params"}
        plain, same = (n.apply(v, planes, method="predict") for n, v in [(net, variables), folded])
        seen = network.evaluator(GAME, *folded)(jax.random.key(0), positions())
        return plain, same, seen

    plain, same, seen = evaluate(variables)
    close = functools.partial(np.testing.assert_allclose, atol=1e-4)  # sums in another order
    jax.tree.map(close, plain, same)
    close(seen.prior_logits, plain.prior_logits)
    close(seen.value, plain.value)
    assert plain.prior_logits.std(axis=0).min() > 1e-2  # or the comparison says little
    assert plain.value.std() > 1e-2
    assert (plain.ownership is not None) == (kind == "final")


def convolved(x, kernel, bias):
    """A same-size 3x3 convolution of `[M, rows, columns, C]`, square by square."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    actual = np.zeros((*x.shape[:3], kernel.shape[-1]))
    for row, column in np.ndindex(x.shape[1:3]):
        window = padded[:, row : row + 3, column : column + 3]
        actual[:, row, column] = np.einsum("mrci,rcio->mo", window, kernel) + bias
    return actual


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


def test_towers_and_heads_give_what_a_plain_network_gives():
    config = make("final", policy_units=5, block_channels=(3, 4))
    config = config.model_copy(update={"normalisation": "none"})
    variables, planes = seasoned(config), GAME.planes(positions())
    apply = functools.partial(network.build(GAME, config).apply, method="predict")
    actual = jax.jit(apply)(variables, planes)

    params = jax.tree.map(lambda x: np.asarray(x, np.float64), variables["params"])
    board = np.asarray(planes, np.float64)

    def projected(x, name):
        return relu(x @ params[f"{name}_projection"]["kernel"] + params[f"{name}_projection_bias"])

    features = slow_tower(params, board, 2)
    p = projected(features, "policy").reshape(8, -1)
    logits = dense(relu(dense(p, params["policy_hidden"])), params["policy_logits"])
    v = projected(features, "value")
    hidden = relu(dense(v.reshape(8, -1), params["value_hidden"]))
    score_logits = dense(hidden, params["score_output"])
    lost, _, won = (np.exp(score_logits) / np.exp(score_logits).sum(axis=1)[:, None]).T
    expected = {
        "prior_logits": logits,
        "score_logits": score_logits,
        "value": won - lost,
        "score": won - lost,
        "ownership": np.tanh(dense(v, params["ownership_output"])).reshape(8, -1),
    }
    for name, numbers in expected.items():
        np.testing.assert_allclose(getattr(actual, name), numbers, atol=1e-5, err_msg=name)


def test_pooled_heads_give_what_a_plain_network_gives():
    config = make("pooled-heads", normalisation="none", has_ownership_head=True)
    variables, planes = seasoned(config), GAME.planes(positions())
    apply = functools.partial(network.build(GAME, config).apply, method="predict")
    actual = jax.jit(apply)(variables, planes)

    params = jax.tree.map(lambda x: np.asarray(x, np.float64), variables["params"])
    tower = slow_tower(params, np.asarray(planes, np.float64), 1)

    def projected(name):
        x = tower @ params[f"{name}_projection"]["kernel"] + params[f"{name}_projection_bias"]
        return relu(x)

    def pooled(x):
        return np.concatenate([x.mean(axis=(1, 2)), x.max(axis=(1, 2))], axis=1)

    p = projected("policy")
    p = relu(p + (pooled(p) @ params["policy_pooled"]["kernel"])[:, None, None])
    logits = relu(dense(p, params["policy_hidden"])) @ params["policy_logits"]["kernel"]
    v = projected("value")
    score_logits = dense(relu(dense(pooled(v), params["value_hidden"])), params["score_output"])
    expected = {
        "prior_logits": logits.reshape(8, 9),
        "score_logits": score_logits,
        "ownership": np.tanh(dense(v, params["ownership_output"])).reshape(8, 9),
    }
    for name, numbers in expected.items():
        np.testing.assert_allclose(getattr(actual, name), numbers, atol=1e-5, err_msg=name)
    assert logits.std(axis=0).min() > 1e-2


def test_pooled_heads_have_the_same_parameters_on_all_boards_but_for_the_outputs_of_scores():
    config = make("pooled-heads", has_ownership_head=True)
    small, large = (shapes(othello.Othello(size), config) for size in (4, 8))
    different = {
        name
        for name, layer in small["params"].items()
        if jax.tree.map(np.shape, layer) != jax.tree.map(np.shape, large["params"][name])
    }
    assert different == {"score_output"}
    assert small["batch_stats"] == large["batch_stats"]
    assert large["params"]["policy_logits"]["kernel"].shape == (5, 1)


def test_a_pooled_policy_sees_no_board_of_one_size():
    with pytest.raises(ValueError, match="'mlp' sees a board of one size: set heads to 'flat', or"):
        make("mlp", heads="pooled")


def test_a_policy_of_dense_layers_sees_the_board_and_nothing_of_the_tower():
    config = make("mlp")
    variables, planes = seasoned(config), GAME.planes(positions())
    actual = jax.jit(network.build(GAME, config).apply)(variables, planes).prior_logits
    params = jax.tree.map(lambda x: np.asarray(x, np.float64), variables["params"])
    own, other = np.moveaxis(np.asarray(planes, np.float64), -1, 0)
    p = (own - other).reshape(8, 9)
    for layer in range(2):
        p = relu(dense(p, params[f"policy_mlp{layer}"]))
    np.testing.assert_allclose(actual, dense(p, params["policy_logits"]), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mlp", "final"])
def test_only_a_network_of_its_own_leaves_the_policy_nothing_in_common_with_the_value(kind):
    config = make(kind, normalisation="none", num_blocks=0, block_channels=())
    net, variables = network.build(GAME, config), seasoned(config)

    @jax.jit
    def gradients(variables):
        logits, value = (
            jax.grad(lambda v, part=part: getattr(net.apply(v, planes), part).sum())
            for part in ("prior_logits", "value")
        )
        return logits(variables)["params"], value(variables)["params"]

    planes = GAME.planes(positions())
    by_logits, by_value = gradients(variables)

    def moved(gradient):
        return {name for name, part in gradient.items() if any(map(np.any, jax.tree.leaves(part)))}

    policy = {name for name in by_logits if name.startswith("policy_")}
    assert policy <= moved(by_logits)
    assert not moved(by_value) & policy
    assert (moved(by_logits) == policy) == (kind != "final")
    assert "stem_kernel" in moved(by_value)


def num_parameters(game, config, prefix=""):
    """Parameters whose name begins with the prefix."""
    leaves = jax.tree_util.tree_leaves_with_path(shapes(game, config)["params"])
    return sum(leaf.size for path, leaf in leaves if path[0].key.startswith(prefix))


def test_pythonnuts_tower_has_the_parameters_counted_by_hand():
    tower = 9 * 2 * 16 + 2 * 16
    for before, after in [(16, 32), (32, 64), (64, 128)]:  # two convolutions and a projection
        tower += 9 * before * after + 9 * after**2 + before * after + 3 * 2 * after
    tower += 2 * (2 * 9 * 128**2 + 2 * 2 * 128)
    projection = 128 * 16 + 2 * 16
    hidden = 64 * 16 * 256 + 256
    heads = 2 * (projection + hidden) + 2 * (256 * 65 + 65)  # 65 actions, 65 final scores
    assert tower + heads == 1_455_938
    assert num_parameters(othello.Othello(8), PYTHONNUT) == tower + heads


def test_the_six_by_six_projects_policy_has_the_parameters_counted_by_hand():
    units = [36, 128, 256, 256, 256, 128, 37]
    expected = sum(a * b + b for a, b in itertools.pairwise(units))
    assert expected == 207_013
    assert num_parameters(othello.Othello(6), SIX_BY_SIX, "policy_") == expected


@pytest.mark.slow
def test_further_heads_leave_the_initial_values_of_the_others_as_they_are():
    config = make("final")
    plain = network.NetworkConfig(**SMALL)
    init = jax.jit(lambda key: [network.init(GAME, c, key)["params"] for c in (config, plain)])
    actual, expected = init(jax.random.key(1))
    assert set(actual) - set(expected) == {"ownership_output", "margin_output"}
    for name, leaves in expected.items():
        jax.tree.map(np.testing.assert_array_equal, actual[name], leaves)
