"""The loss of `azo.learning.learner`, on positions of tic-tac-toe with made-up policies."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import some_examples
from support.some_examples import GAME, NUM_EXAMPLES, examples

from azo.learning import heads, learner, network, ply_records, replay

PLAIN = learner.LearnerConfig(augment=False, score_weight=0.0)


def legal_moves():
    return np.asarray(GAME.legal_mask(GAME.unpack(examples().board)))


class Table:
    """In place of a network: the parameters are its answers."""

    config = network.NetworkConfig()

    def apply(self, variables, planes, *, mutable, method):
        del planes, mutable, method
        score = jnp.zeros(NUM_EXAMPLES), jnp.zeros((NUM_EXAMPLES, 3)), None
        given = dict(zip(("score", "score_logits", "ownership"), score, strict=True))
        return heads.Prediction(**(given | variables["params"])), {}


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
    actual = jax.nn.softmax(jnp.where(legal, params["prior_logits"], -jnp.inf))
    expected = (actual - examples().policy) / NUM_EXAMPLES
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

    config = network.NetworkConfig()

    def apply(self, variables, planes, *, mutable, method):
        del mutable, method
        layout = ("NHWC", "HWIO", "NHWC")
        kernel = self.kernel * variables["params"]
        shown = planes.astype(jnp.float32)
        logits = jax.lax.conv_general_dilated(
            shown, kernel, (1, 1), "SAME", dimension_numbers=layout
        )
        value, scores = jnp.zeros(len(planes)), jnp.zeros((len(planes), 3))
        return heads.Prediction(logits.reshape(len(planes), -1), scores, value, value, None), {}


def test_planes_legal_moves_and_target_are_turned_alike():
    symmetric, lopsided = Neighbours(True), Neighbours(False)
    turned = PLAIN.model_copy(update={"augment": True})
    one = jnp.float32(1)
    plain = loss(one, symmetric)[0]
    for key in range(3):
        np.testing.assert_allclose(loss(one, symmetric, turned, key=key)[0], plain, rtol=1e-5)
    assert abs(loss(one, lopsided, turned)[0] - loss(one, lopsided)[0]) > 1e-3


LOG2, LOG3 = np.log(2), np.log(3)


def two_positions(*, score=(1, 0)):
    """The first has moves 6, 7 and 8, the second 6 and 8; targets and final boards by hand."""
    position, boards = GAME.start(1), []
    for ply, action in enumerate([0, 1, 2, 4, 3, 5, 7]):
        if ply == 6:
            boards.append(GAME.pack(position))
        position = GAME.step(position, jnp.array([action])).position
    boards.append(GAME.pack(position))
    policy = np.zeros((2, GAME.num_actions), np.float32)
    policy[0, [6, 7]] = 0.5
    policy[1, 6] = 1.0
    final = [[1, 1, 1, 1, 1, -1, -1, 0, 0], [1, -1, -1, -1, -1, 0, 0, 0, 0]]
    return replay.Examples(
        board=jnp.concatenate(boards),
        policy=jnp.asarray(policy),
        value=jnp.array([1.0, 0.5]),
        score=jnp.array(score),
        ownership=jnp.array(final, jnp.float32),
    )


def two_answers():
    """Policies 1/2, 1/4, 1/4 and 1/4, 3/4 over the legal moves."""
    logits = np.full((2, GAME.num_actions), 5.0, np.float32)
    logits[0, 6:9] = LOG2, 0, 0
    logits[1, [6, 8]] = 0, LOG3
    return {
        "prior_logits": jnp.asarray(logits),
        "value": jnp.array([0.5, -1.0]),
        "ownership": jnp.array([[0.0] * 9, [-1.0] * 9]),
        "score": jnp.array([0.0, -0.5]),
        "score_logits": jnp.array([[0, 0, LOG2], [LOG3, 0, 0]]),  # chances 1/2 and 1/5
    }


def test_every_loss_of_two_positions_is_as_worked_by_hand():
    config = PLAIN.model_copy(
        update={
            "policy_weight": 2.0,
            "value_weight": 3.0,
            "entropy_bonus": 0.5,
            "ownership_weight": 5.0,
            "score_weight": 7.0,
        }
    )
    total, (actual, _) = loss(two_answers(), config=config, some=two_positions())
    policy = (1.5 * LOG2 + 2 * LOG2) / 2
    value = (0.5**2 + 1.5**2) / 2
    entropy = (1.5 * LOG2 + (2 * LOG2 - 0.75 * LOG3)) / 2
    # Five discs to two and two empty squares; one disc to four and four empty squares.
    ownership = (7 / 9 + (2**2 + 4 * 1**2) / 9) / 2
    score = (LOG2 + np.log(5)) / 2
    np.testing.assert_allclose(
        [actual.policy, actual.value, actual.entropy, actual.ownership, actual.score],
        [policy, value, entropy, ownership, score],
        rtol=1e-5,
    )
    np.testing.assert_allclose(actual.policy_entropy, LOG2 / 2, rtol=1e-5)
    expected = 2 * policy + 3 * value - 0.5 * entropy + 5 * ownership + 7 * score
    np.testing.assert_allclose(total, expected, rtol=1e-5)


def test_the_value_mixes_result_and_score_by_the_share_of_the_score():
    some, params = two_positions(), two_answers()
    _, (losses, _) = learner.loss(
        GAME, Table(), params, {}, jax.random.key(0), some, config=PLAIN, score_share=0.25
    )
    value = 0.75 * 0.5, 0.75 * -1 + 0.25 * -0.5
    np.testing.assert_allclose(losses.value, ((1 - value[0]) ** 2 + (0.5 - value[1]) ** 2) / 2)


def test_examples_whose_end_is_unknown_have_no_part_in_ownership_and_score():
    config = PLAIN.model_copy(update={"ownership_weight": 1.0, "score_weight": 1.0})
    unknown = ply_records.UNKNOWN_SCORE

    def actual(*score):
        some = two_positions(score=score)
        return jax.grad(lambda p: loss(p, config=config, some=some), has_aux=True)(two_answers())

    gradient, (losses, _) = actual(1, unknown)
    np.testing.assert_allclose([losses.ownership, losses.score], [7 / 9, LOG2], rtol=1e-5)
    assert (gradient["ownership"][1] == 0).all()
    expected = [[0.25, 0.25, -0.5], [0, 0, 0]]  # chances minus the score that came
    np.testing.assert_allclose(gradient["score_logits"], expected, atol=1e-6)
    gradient, (losses, _) = actual(unknown, unknown)
    assert (losses.ownership, losses.score) == (0, 0)
    assert not gradient["ownership"].any()
    assert not gradient["score_logits"].any()


def test_ownership_is_not_learned_without_final_boards():
    config = PLAIN.model_copy(update={"ownership_weight": 1.0})
    with pytest.raises(ValueError, match="needs examples with final boards"):
        loss(answers(), config=config)
    assert loss(answers())[1][0].ownership == 0


def test_the_entropy_bonus_has_the_gradient_of_finite_differences():
    params, legal = answers(), legal_moves()
    config = PLAIN.model_copy(update={"policy_weight": 0.0, "entropy_bonus": 0.3})
    gradient = jax.grad(lambda p: loss(p, config=config)[0])(params)["prior_logits"]

    def bonus(logits):
        weight = np.where(legal, np.exp(logits), 0)
        policy = weight / weight.sum(axis=1, keepdims=True)
        return 0.3 * -(policy * np.log(np.where(legal, policy, 1))).sum(axis=1) / NUM_EXAMPLES

    logits = np.asarray(params["prior_logits"], np.float64)
    expected = np.zeros_like(logits)
    for action in range(GAME.num_actions):
        step = np.zeros_like(logits)
        step[:, action] = 1e-5
        expected[:, action] = -(bonus(logits + step) - bonus(logits - step)) / 2e-5
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(gradient, expected, atol=1e-7)


def test_the_l2_loss_is_the_sum_of_squares_of_kernels_alone():
    params = answers(value=jnp.linspace(-1.0, 1.0, NUM_EXAMPLES))
    config = PLAIN.model_copy(update={"l2_weight": 0.01})
    value_and_gradient = jax.value_and_grad(lambda p, c: loss(p, config=c)[0])
    (total, gradient), (plain, plain_gradient) = (
        value_and_gradient(params, c) for c in (config, PLAIN)
    )
    kernel = np.asarray(params["prior_logits"])
    np.testing.assert_allclose(total - plain, 0.01 * np.square(kernel).sum(), rtol=1e-5)
    np.testing.assert_allclose(
        gradient["prior_logits"] - plain_gradient["prior_logits"], 0.02 * kernel, atol=1e-7
    )
    np.testing.assert_array_equal(gradient["value"], plain_gradient["value"])


class Echo:
    """A stand-in for a network: predicts that the final board is the present one."""

    config = network.NetworkConfig()

    def apply(self, variables, planes, *, mutable, method):
        del variables, mutable, method
        shown = planes.astype(jnp.float32)
        ownership = (shown[..., 0] - shown[..., 1]).reshape(len(planes), -1)
        logits = jnp.zeros((len(planes), GAME.num_actions))
        scores = jnp.zeros((len(planes), 3))
        return heads.Prediction(logits, scores, ownership[:, 0], ownership[:, 0], ownership), {}


@pytest.mark.parametrize("key", range(3))
def test_final_boards_are_turned_with_the_position(key):
    pieces = GAME.planes(GAME.unpack(examples().board)).astype(jnp.float32)
    final = (pieces[..., 0] - pieces[..., 1]).reshape(NUM_EXAMPLES, -1)
    some = dataclasses.replace(examples(), ownership=final)
    turned = learner.LearnerConfig(augment=True)
    assert loss({}, Echo(), turned, some, key)[1][0].ownership == 0
    other = dataclasses.replace(some, ownership=final[:, ::-1])
    assert loss({}, Echo(), turned, other, key)[1][0].ownership > 0.1


@functools.cache
def normalising():
    """A network that normalises, and its variables."""
    config = network.NetworkConfig(
        num_blocks=0, num_channels=4, policy_units=16, has_ownership_head=True
    )
    init = jax.jit(functools.partial(network.init, GAME, config))
    return network.build(GAME, config), init(jax.random.key(0))


def test_validation_is_the_loss_of_the_network_as_it_plays():
    net, variables = normalising()
    config = learner.LearnerConfig()  # which augments in training
    some = some_examples.finished()

    @jax.jit
    def both(variables):
        actual = learner.evaluate_loss(GAME, net.clone(is_training=True), variables, some)
        params, batch_stats = variables["params"], variables["batch_stats"]
        plain = config.model_copy(update={"augment": False})
        key = jax.random.key(0)
        _, (expected, _) = learner.loss(GAME, net, params, batch_stats, key, some, config=plain)
        return actual, expected

    actual, expected = both(variables)
    jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-6), actual, expected)
    assert actual.ownership > 0.1


def test_losses_of_a_step_not_taken_are_unknown():
    assert np.isnan(jax.tree.leaves(learner.unknown_losses())).all()
    assert len(jax.tree.leaves(learner.unknown_losses())) == 7
