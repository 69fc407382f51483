"""Loss, optimiser and steps, on positions of tic-tac-toe with made-up policies."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import random_games
import tiny_run
from jax.sharding import PartitionSpec

from azo.games import tictactoe
from azo.learning import learner, loop, network, replay, state
from azo.search import policy

GAME = tictactoe.TicTacToe()
NUM_EXAMPLES = 16
PLAIN = learner.LearnerConfig(augment=False)


@functools.cache
def examples():
    """Positions under way, each with a policy over its legal moves and a result."""
    games = random_games.play(GAME, 8, seed=0)
    chosen = jax.tree.map(lambda x: jnp.asarray(x[1:3]).reshape(-1), games.position)
    legal = np.asarray(GAME.legal_mask(chosen))
    rng = np.random.default_rng(0)
    weights = rng.random(legal.shape) * legal
    return replay.Examples(
        board=GAME.pack(chosen),
        policy=jnp.asarray(weights / weights.sum(axis=1, keepdims=True), jnp.float32),
        value=jnp.asarray(rng.choice([-1.0, 0.0, 1.0], NUM_EXAMPLES), jnp.float32),
    )


def legal_moves():
    return np.asarray(GAME.legal_mask(GAME.unpack(examples().board)))


class Table:
    """In place of a network: the parameters are its answers."""

    def apply(self, variables, planes, mutable):
        del planes, mutable
        return policy.Evaluation(**variables["params"]), {}


def answers(logits=None, value=None):
    shape = (NUM_EXAMPLES, GAME.num_actions)
    return {
        "prior_logits": jax.random.normal(jax.random.key(1), shape) if logits is None else logits,
        "value": jnp.zeros(NUM_EXAMPLES) if value is None else value,
    }


def loss(params, net=None, config=PLAIN, some=None, key=0):
    some = examples() if some is None else some
    return learner.loss(GAME, net or Table(), params, {}, jax.random.key(key), some, config=config)


def test_illegal_moves_get_no_gradient_and_legal_ones_the_difference_to_the_target():
    params = answers()
    gradient = jax.grad(lambda p: loss(p)[0])(params)["prior_logits"]
    legal = legal_moves()
    assert (np.asarray(gradient)[~legal] == 0).all()
    found = jax.nn.softmax(jnp.where(legal, params["prior_logits"], -jnp.inf))
    expected = (found - examples().policy) / NUM_EXAMPLES
    np.testing.assert_allclose(gradient, expected, atol=1e-6)


def test_the_logits_of_illegal_moves_do_not_matter():
    params = answers()
    odd = answers(jnp.where(legal_moves(), params["prior_logits"], 50.0))
    assert loss(params)[0] == loss(odd)[0]


def test_a_perfect_prediction_costs_the_entropy_of_the_target():
    some = examples()
    perfect = answers(jnp.log(jnp.maximum(some.policy, 1e-30)), some.value)
    total, (losses, _) = loss(perfect)
    target = np.asarray(some.policy, np.float64)
    entropy = -(target * np.log(np.where(target > 0, target, 1))).sum(axis=1).mean()
    assert losses.value == 0
    np.testing.assert_allclose([losses.policy, losses.policy_entropy, total], entropy, rtol=1e-5)
    assert loss(answers())[1][0].policy > losses.policy


def test_the_loss_is_the_mean_over_the_batch_of_two_weighted_parts():
    config = PLAIN.model_copy(update={"value_weight": 3.0})
    params = answers()
    total, (losses, _) = loss(params, config=config)
    np.testing.assert_allclose(total, losses.policy + 3 * losses.value, rtol=1e-6)
    singles = [
        loss(*jax.tree.map(lambda x, i=i: x[i : i + 1], (params, None)), config=config,
             some=jax.tree.map(lambda x, i=i: x[i : i + 1], examples()))[0]
        for i in range(NUM_EXAMPLES)
    ]  # fmt: skip
    np.testing.assert_allclose(total, np.mean(singles), rtol=1e-5)


class Neighbours:
    """In place of a network: logits by a fixed kernel over the planes it is shown."""

    def __init__(self, is_symmetric):
        corner, edge, centre = (1.0, 2.0, 3.0) if is_symmetric else (1.0, -2.0, 3.0)
        kernel = np.array([[corner, edge, corner], [edge, centre, edge], [corner, edge, corner]])
        if not is_symmetric:
            kernel[0] = 5.0
        self.kernel = jnp.asarray(np.stack([kernel, -0.5 * kernel], axis=-1)[..., None], "float32")

    def apply(self, variables, planes, mutable):
        del mutable
        layout = ("NHWC", "HWIO", "NHWC")
        kernel = self.kernel * variables["params"]
        shown = planes.astype(jnp.float32)
        logits = jax.lax.conv_general_dilated(
            shown, kernel, (1, 1), "SAME", dimension_numbers=layout
        )
        value = jnp.zeros(len(planes))
        return policy.Evaluation(logits.reshape(len(planes), -1), value), {}


def test_planes_legal_moves_and_target_are_turned_alike():
    symmetric, lopsided = Neighbours(True), Neighbours(False)
    turned = learner.LearnerConfig(augment=True)
    one = jnp.float32(1)
    plain = loss(one, symmetric)[0]
    for key in range(3):
        np.testing.assert_allclose(loss(one, symmetric, turned, key=key)[0], plain, rtol=1e-5)
    assert abs(loss(one, lopsided, turned)[0] - loss(one, lopsided)[0]) > 1e-3


@pytest.mark.parametrize(
    ("kind", "step", "expected"),
    [
        ("constant", 0, 0.0),
        ("constant", 5, 0.1),
        ("constant", 10, 0.2),
        ("constant", 110, 0.2),
        ("cosine", 0, 0.0),
        ("cosine", 5, 0.1),
        ("cosine", 10, 0.2),
        ("cosine", 60, (0.2 + 0.01) / 2),
        ("cosine", 110, 0.01),
        ("cosine", 500, 0.01),
    ],
)
def test_the_learning_rate_follows_its_schedule(kind, step, expected):
    config = learner.LearnerConfig(learning_rate=0.2, warmup_steps=10, schedule=kind)
    rate = learner.learning_rate(config, total_steps=110)
    np.testing.assert_allclose(rate(step), expected, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("kind", ["constant", "cosine"])
@pytest.mark.parametrize(("warmup", "total_steps"), [(0, 100), (100, 1), (100, 50)])
def test_short_runs_and_no_warmup_still_learn(kind, warmup, total_steps):
    config = learner.LearnerConfig(learning_rate=0.2, warmup_steps=warmup, schedule=kind)
    rate = learner.learning_rate(config, total_steps)
    rates = np.array([rate(step) for step in range(total_steps)])
    assert np.isfinite(rates).all()
    assert rates.max() > 0.19


@pytest.mark.parametrize("kind", ["adamw", "sgd"])
def test_only_kernels_decay(kind):
    config = learner.LearnerConfig(
        optimiser=kind, weight_decay=0.5, learning_rate=0.1, warmup_steps=0
    )
    optimiser = learner.make_optimiser(config, total_steps=10)
    params = {"kernel": jnp.ones((2, 3)), "bias": jnp.ones(3), "conv": jnp.ones((3, 3, 2, 2))}
    zeros = jax.tree.map(jnp.zeros_like, params)
    updates, _ = optimiser.update(zeros, optimiser.init(params), params)
    np.testing.assert_allclose(updates["kernel"], -0.05, rtol=1e-5)
    np.testing.assert_allclose(updates["conv"], -0.05, rtol=1e-5)
    np.testing.assert_array_equal(updates["bias"], 0)


def test_sgd_adds_momentum_and_scales_large_gradients_down():
    config = learner.LearnerConfig(
        optimiser="sgd", weight_decay=0, learning_rate=0.1, warmup_steps=0, max_gradient_norm=5.0
    )
    optimiser = learner.make_optimiser(config, total_steps=10)
    params = jnp.zeros(2)
    carried = optimiser.init(params)
    first, carried = optimiser.update(jnp.array([3.0, 4.0]), carried, params)
    second, _ = optimiser.update(jnp.array([30.0, 40.0]), carried, params)
    np.testing.assert_allclose(first, [-0.3, -0.4], rtol=1e-5)
    np.testing.assert_allclose(second, [-0.57, -0.76], rtol=1e-5)  # -0.1 * (0.9 + 1) * (3, 4)


def ring(some, num_devices=1):
    """A full ring of the examples, as many rows as there are."""
    whole = jnp.full(num_devices, len(some.value) // num_devices, jnp.int32)
    return replay.Replay(
        board=some.board,
        policy=jnp.round(some.policy * 255).astype(jnp.uint8),
        value=some.value.astype(jnp.float16),
        next_row=jnp.zeros_like(whole),
        size=whole,
    )


def learned(config, num_devices):
    """Learner and losses after `config.num_steps` steps on the examples."""
    net_config = tiny_run.settings().network
    net = network.build(GAME, net_config).clone(is_training=True, axis_name=state.AXIS)
    optimiser = learner.make_optimiser(config, total_steps=1000)
    mesh = loop.make_mesh(num_devices)

    def learn(start, some):
        return learner.learn(
            GAME,
            net,
            optimiser,
            jax.random.key(1),
            start,
            some,
            config=config,
            num_examples=config.batch_size // num_devices,
            axis_name=state.AXIS,
        )

    everywhere, split = PartitionSpec(), PartitionSpec(state.AXIS)
    sharded = jax.shard_map(
        learn, mesh=mesh, in_specs=(everywhere, split), out_specs=everywhere, check_vma=False
    )

    def run(some):
        variables = network.init(GAME, net_config, jax.random.key(0))
        start = learner.Learner(
            params=variables["params"],
            batch_stats=variables["batch_stats"],
            optimiser_state=optimiser.init(variables["params"]),
            num_steps=jnp.int32(0),
        )
        return sharded(start, some)

    return jax.device_get(jax.jit(run)(ring(examples(), num_devices)))


def test_a_few_positions_are_learned_by_heart():
    config = learner.LearnerConfig(
        batch_size=32, num_steps=600, learning_rate=1e-2, augment=False, warmup_steps=0
    )
    after, mean = learned(config, 1)
    assert int(after.num_steps) == 600
    # Over all steps, the first ones with 0.46 and 0.75 among them.
    assert mean.policy - mean.policy_entropy < 0.1
    assert mean.value < 0.3


def test_a_batch_spread_over_two_devices_gives_the_same_steps(monkeypatch):
    if jax.device_count() < 2:
        pytest.skip("needs two devices")

    def in_order(some, key, num_examples):
        del key
        return replay.Examples(
            board=some.board[:num_examples],
            policy=some.policy[:num_examples] / 255.0,
            value=some.value[:num_examples].astype(jnp.float32),
        )

    monkeypatch.setattr(replay, "sample", in_order)
    config = learner.LearnerConfig(
        optimiser="sgd", batch_size=16, num_steps=2, augment=False, warmup_steps=0
    )
    (one, one_losses), (two, two_losses) = (learned(config, n) for n in (1, 2))
    close = functools.partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-5)  # another order
    jax.tree.map(close, one.params, two.params)
    jax.tree.map(close, one.batch_stats, two.batch_stats)
    jax.tree.map(close, one_losses, two_losses)
