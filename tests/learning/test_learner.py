"""Rates, optimisers and steps, on positions of tic-tac-toe; `test_losses` has the losses."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec
from support.builders import some_examples, tiny_run

from azo.games import othello
from azo.learning import learner, optimisers, run_state, sharding
from azo.networks import initial_variables, network, network_config

GAME = some_examples.GAME
RATE = 0.1
MUON = learner.LearnerConfig(optimiser="muon", learning_rate=RATE, warmup_steps=0, weight_decay=0.5)
PATTERNS = network_config.PatternsConfig(hidden_units=(6, 5), has_move_counts=True)


@pytest.mark.parametrize(
    ("kind", "step", "progress", "expected"),
    [
        *[("constant", 0, 0.0, 0.1), ("constant", 4, 0.0, 0.5), ("constant", 110, 1.0, 1.0)],
        *[("cosine", 4, 0.0, 0.5), ("cosine", 60, 0.0, 1.0), ("cosine", 500, 1.2, 0.05)],
        ("cosine", 60, 0.5, (1 + 0.05) / 2),
        *[("trapezoid", 4, 0.0, 0.5), ("trapezoid", 60, 0.79, 1.0)],
        *[("trapezoid", 60, 0.9, (1 + 0.05) / 2), ("trapezoid", 500, 1.2, 0.05)],
    ],
)
def test_the_learning_rate_follows_its_schedule(kind, step, progress, expected):
    config = learner.LearnerConfig(warmup_steps=9, schedule=kind)
    factor = learner.rate_factor(config, jnp.int32(step), jnp.float32(progress))
    np.testing.assert_allclose(factor, expected, rtol=1e-5)


def first_step(gradient, config):
    """Returns the first step of parameters of 1."""
    optimiser = learner.make_optimiser(config, network.NetworkConfig(kind="residual"))
    params = jax.tree.map(jnp.ones_like, gradient)
    return optimiser.update(gradient, optimiser.init(params), params)[0]


@pytest.mark.parametrize("kind", ["adamw", "sgd"])
def test_only_kernels_decay(kind):
    config = learner.LearnerConfig(
        optimiser=kind, weight_decay=0.5, learning_rate=0.1, warmup_steps=0
    )
    shapes = {"kernel": (2, 3), "bias": 3, "conv": (3, 3, 2, 2)}
    updates = first_step({name: jnp.zeros(shape) for name, shape in shapes.items()}, config)
    np.testing.assert_allclose(updates["kernel"], -0.05, rtol=1e-5)
    np.testing.assert_allclose(updates["conv"], -0.05, rtol=1e-5)
    np.testing.assert_array_equal(updates["bias"], 0)


def test_sgd_adds_momentum_and_scales_large_gradients_down():
    config = learner.LearnerConfig(
        optimiser="sgd", weight_decay=0, learning_rate=0.1, warmup_steps=0
    )
    optimiser = learner.make_optimiser(config, network.NetworkConfig(kind="residual"))
    params = {"bias": jnp.zeros(2)}
    carried = optimiser.init(params)
    first, carried = optimiser.update({"bias": jnp.array([3.0, 4.0])}, carried, params)
    second, _ = optimiser.update({"bias": jnp.array([30.0, 40.0])}, carried, params)
    np.testing.assert_allclose(first["bias"], [-0.3, -0.4], rtol=1e-5)
    np.testing.assert_allclose(
        second["bias"], [-0.57, -0.76], rtol=1e-5
    )  # -0.1 * (0.9 + 1) * (3, 4)


def learned(config, num_devices, sample, examples=None, statistics_axis=run_state.AXIS):
    """Learner and losses after `config.num_steps` steps, a device's examples drawn by `sample`."""
    net_config = tiny_run.settings().network
    net = network.build(GAME, net_config).clone(is_training=True, axis_name=statistics_axis)
    optimiser = learner.make_optimiser(config, network.NetworkConfig(kind="residual"))
    mesh = sharding.make_mesh(num_devices)

    def learn(start, some):
        return learner.learn(
            GAME,
            net,
            optimiser,
            jax.random.key(1),
            start,
            functools.partial(sample, some),
            config=config,
            axis_name=run_state.AXIS,
        )

    everywhere, split = PartitionSpec(), PartitionSpec(run_state.AXIS)
    sharded = jax.shard_map(
        learn, mesh=mesh, in_specs=(everywhere, split), out_specs=everywhere, check_vma=False
    )

    def run(some):
        variables = initial_variables.init(GAME, net_config, jax.random.key(0))
        return sharded(learner.init(optimiser, variables), some)

    return jax.device_get(jax.jit(run)(examples or some_examples.finished()))


@pytest.mark.thorough
@pytest.mark.parametrize("optimiser", ["adamw", pytest.param("muon", marks=pytest.mark.slow)])
def test_a_few_positions_are_learned_by_heart(optimiser):
    def draw(some, key):
        row = jax.random.randint(key, (32,), 0, len(some.value))
        return jax.tree.map(lambda x: x[row], some)

    config = learner.LearnerConfig(
        optimiser=optimiser,
        num_steps=600,
        learning_rate=1e-2,
        augment=False,
        warmup_steps=0,
        score_weight=1.0,
    )
    after, mean = learned(config, 1, draw)
    assert int(after.num_steps) == 600
    # Over all steps, the first ones with 0.44, 0.80 and 1.1 among them.
    assert mean.policy - mean.policy_entropy < 0.1
    assert mean.value < 0.3
    assert mean.score < 0.4


def all_of_them(some, key):
    del key
    return some


@pytest.mark.thorough
@pytest.mark.skipif(jax.device_count() < 8, reason="needs eight devices")
def test_a_batch_spread_over_eight_devices_gives_the_same_steps():
    config = learner.LearnerConfig(
        optimiser="sgd",
        num_steps=2,
        augment=False,
        warmup_steps=0,
        l2_weight=1e-3,
        entropy_bonus=0.1,
        score_weight=1.0,
    )
    # Some devices have two examples without a final score, and some have none.
    (one, one_losses), (many, many_losses) = (learned(config, n, all_of_them) for n in (1, 8))
    close = functools.partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-5)  # another order
    jax.tree.map(close, one.params, many.params)
    jax.tree.map(close, one.batch_stats, many.batch_stats)
    jax.tree.map(close, one_losses, many_losses)


@pytest.mark.thorough
@pytest.mark.skipif(jax.device_count() < 2, reason="needs two devices")
def test_with_statistics_of_each_device_equal_parts_give_the_steps_of_one_part():
    config = learner.LearnerConfig(optimiser="sgd", num_steps=2, augment=False, warmup_steps=0)
    part = some_examples.finished()
    twice = jax.tree.map(lambda x: jnp.concatenate([x, x]), part)
    one, _ = learned(config, 1, all_of_them, part, None)
    two, _ = learned(config, 2, all_of_them, twice, None)
    close = functools.partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-6)  # another order
    jax.tree.map(close, one.params, two.params)
    jax.tree.map(close, one.batch_stats, two.batch_stats)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            {"kind": "residual", "num_blocks": 1, "policy_units": 4},
            {"stem_kernel", "block0_first_kernel", "block0_second_kernel", "policy_projection"}
            | {"policy_hidden", "value_projection", "value_hidden"},
        ),
        ({"kind": "patterns", "patterns": PATTERNS}, {"hidden0", "hidden1"}),
    ],
)
def test_muon_learns_the_kernels_of_all_layers_but_the_outputs(settings, expected):
    params = network.shapes(othello.Othello(6), network.NetworkConfig(**settings))["params"]
    kernels = optimisers.hidden_kernels(params)
    assert {name for name in params if jax.tree.leaves(kernels[name])} == expected


def draw(*shape):
    return jnp.asarray(np.random.default_rng(0).normal(size=shape), jnp.float32)


def test_steps_of_a_hidden_kernel_are_as_large_as_those_of_adamw():
    step = first_step({"stem_kernel": draw(3, 3, 4, 6)}, MUON)
    matrix = np.asarray(step["stem_kernel"]) + 0.5 * RATE  # no decay
    np.testing.assert_allclose(np.sqrt(np.square(matrix).mean()), 0.2 * RATE, rtol=0.2)


def test_other_parameters_have_steps_of_adamw_and_hidden_kernels_alone_decay():
    output, kernel = {"kernel": draw(4, 3), "bias": draw(3)}, jnp.zeros((3, 3, 4, 6))
    gradient = {"score_output": output, "stem_norm": {"scale": jnp.zeros(3)}}
    step = first_step(gradient | {"stem_kernel": kernel}, MUON)
    np.testing.assert_allclose(step["stem_kernel"], -0.5 * RATE, rtol=1e-5)
    for name, gradient in output.items():
        # The first step of Adam with Nesterov's momentum: (1 + 0.9 * 0.1 / 0.19) rates.
        expected = -1.4737 * RATE * np.sign(gradient)
        np.testing.assert_allclose(step["score_output"][name], expected, rtol=1e-3)
    np.testing.assert_array_equal(step["stem_norm"]["scale"], 0)


def test_tables_of_patterns_keep_their_optimiser():
    gradient = {"tables": draw(1, 7, 20), "hidden0": {"kernel": draw(4, 6)}}
    step = first_step(gradient, MUON)
    other = first_step(gradient, MUON.model_copy(update={"optimiser": "adamw"}))
    np.testing.assert_array_equal(step["tables"], other["tables"])
    assert np.abs(step["hidden0"]["kernel"] - other["hidden0"]["kernel"]).max() > 0.1 * RATE
