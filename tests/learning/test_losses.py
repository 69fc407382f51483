"""The loss of `azo.learning.learner`, on positions of tic-tac-toe with made-up policies."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from support.builders.some_examples import GAME, NUM_EXAMPLES, examples

from azo.learning import learner, replay, trajectories
from azo.networks import base, network

PLAIN = learner.LearnerConfig(augment=False, score_weight=0.0)


def legal_moves():
    return np.asarray(GAME.legal_mask(GAME.unpack(examples().board)))


class Table:
    """In place of a network: the parameters are its answers."""

    config = network.NetworkConfig(kind="residual")

    def apply(self, variables, planes, *, mutable):
        del planes, mutable
        given = {"score": jnp.zeros(NUM_EXAMPLES), "score_logits": jnp.zeros((NUM_EXAMPLES, 3))}
        return base.Prediction(**(given | variables["params"])), {}


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


@dataclasses.dataclass
class Lines:
    """In place of a network: logits by the pieces in the row of a square, and in its column."""

    is_symmetric: bool
    config = network.NetworkConfig(kind="residual")

    def apply(self, variables, planes, *, mutable):
        del mutable
        pieces = variables["params"] * (planes[..., 0] - 0.5 * planes[..., 1])
        logits = pieces.sum(axis=2, keepdims=True) + jnp.zeros_like(pieces)
        logits += pieces.sum(axis=1, keepdims=True) * self.is_symmetric
        value, scores = jnp.zeros(len(planes)), jnp.zeros((len(planes), 3))
        return base.Prediction(logits.reshape(len(planes), -1), scores, value, value), {}


def test_planes_legal_moves_and_target_are_turned_alike():
    symmetric, lopsided = Lines(True), Lines(False)
    turned = PLAIN.model_copy(update={"augment": True})
    one = jnp.float32(1)
    plain = loss(one, symmetric)[0]
    for key in range(3):
        np.testing.assert_allclose(loss(one, symmetric, turned, key=key)[0], plain, rtol=1e-5)
    assert abs(loss(one, lopsided, turned)[0] - loss(one, lopsided)[0]) > 1e-3


def test_a_loss_of_an_option_sees_squares_as_the_board_has_them():
    """The core's own policy loss, written as an option writes it, is the same number."""

    def policy_loss(prediction, examples):
        legal = GAME.legal_mask(GAME.unpack(examples.board))
        log_policy = jax.nn.log_softmax(jnp.where(legal, prediction.prior_logits, -jnp.inf))
        return -jnp.where(legal, examples.policy * log_policy, 0).sum(axis=-1).mean()

    for augment in (False, True):
        config = PLAIN.model_copy(update={"augment": augment})
        total, (losses, _) = learner.loss(
            GAME, Lines(False), jnp.float32(1), {}, jax.random.key(3), examples(),
            config=config, extra_losses={"own": policy_loss},
        )  # fmt: skip
        np.testing.assert_allclose(losses.extra["own"], losses.policy, rtol=1e-5)
        np.testing.assert_allclose(total, 2 * losses.policy + losses.value, rtol=1e-5)


LOG2, LOG3 = np.log(2), np.log(3)


def two_positions(*, score=(1, 0)):
    """The first has moves 6, 7 and 8, the second 6 and 8; targets by hand."""
    position, boards = GAME.start(1), []
    for ply, action in enumerate([0, 1, 2, 4, 3, 5, 7]):
        if ply == 6:
            boards.append(GAME.pack(position))
        position = GAME.step(position, jnp.array([action])).position
    boards.append(GAME.pack(position))
    policy = np.zeros((2, GAME.num_actions), np.float32)
    policy[0, [6, 7]] = 0.5
    policy[1, 6] = 1.0
    return replay.Examples(
        board=jnp.concatenate(boards),
        policy=jnp.asarray(policy),
        value=jnp.array([1.0, 0.5]),
        score=jnp.array(score),
    )


def two_answers():
    """Policies 1/2, 1/4, 1/4 and 1/4, 3/4 over the legal moves."""
    logits = np.full((2, GAME.num_actions), 5.0, np.float32)
    logits[0, 6:9] = LOG2, 0, 0
    logits[1, [6, 8]] = 0, LOG3
    return {
        "prior_logits": jnp.asarray(logits),
        "value": jnp.array([0.5, -1.0]),
        "score": jnp.array([0.0, -0.5]),
        "score_logits": jnp.array([[0, 0, LOG2], [LOG3, 0, 0]]),  # chances 1/2 and 1/5
    }


def test_every_loss_of_two_positions_is_as_worked_by_hand():
    weights = {"policy_weight": 2.0, "entropy_bonus": 0.5, "score_weight": 7.0}
    config = PLAIN.model_copy(update=weights)
    some, params = two_positions(), two_answers()
    total, (actual, _) = loss(params, config=config, some=some)
    policy = (1.5 * LOG2 + 2 * LOG2) / 2
    value = (0.5**2 + 1.5**2) / 2
    entropy = (1.5 * LOG2 + (2 * LOG2 - 0.75 * LOG3)) / 2
    score = (LOG2 + np.log(5)) / 2
    np.testing.assert_allclose(
        [actual.policy, actual.value, actual.entropy, actual.score],
        [policy, value, entropy, score],
        rtol=1e-5,
    )
    np.testing.assert_allclose(actual.policy_entropy, LOG2 / 2, rtol=1e-5)
    expected = 2 * policy + value - 0.5 * entropy + 7 * score
    np.testing.assert_allclose(total, expected, rtol=1e-5)
    # The value of results and scores, mixed by the share of the score.
    _, (mixed, _) = learner.loss(
        GAME, Table(), params, {}, jax.random.key(0), some, config=PLAIN, score_share=0.25
    )
    value = ((1 - 0.75 * 0.5) ** 2 + (0.5 + 0.75 + 0.25 * 0.5) ** 2) / 2
    np.testing.assert_allclose(mixed.value, value)


def test_examples_whose_end_is_unknown_have_no_part_in_the_score():
    config = PLAIN.model_copy(update={"score_weight": 1.0})
    unknown = trajectories.UNKNOWN_SCORE

    def actual(*score):
        some = two_positions(score=score)
        return jax.grad(lambda p: loss(p, config=config, some=some), has_aux=True)(two_answers())

    gradient, (losses, _) = actual(1, unknown)
    np.testing.assert_allclose(losses.score, LOG2, rtol=1e-5)
    expected = [[0.25, 0.25, -0.5], [0, 0, 0]]  # chances minus the score that came
    np.testing.assert_allclose(gradient["score_logits"], expected, atol=1e-6)
    gradient, (losses, _) = actual(unknown, unknown)
    assert losses.score == 0
    assert not gradient["score_logits"].any()


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
