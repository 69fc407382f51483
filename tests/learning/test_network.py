"""The network as search and learning see it; `tiny_run` gives one with finalised statistics."""

import functools
import re

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest
from support import random_games, tiny_run

from azo.games import othello, symmetry, tictactoe
from azo.learning import learner, network, replay
from azo.search import improvement, search_tree

TINY = network.NetworkConfig(num_blocks=1, num_channels=4, value_units=4)
GAMES = [othello.Othello(4), othello.Othello(6), othello.Othello(8), tictactoe.TicTacToe()]


def fresh(game, config):
    return network.init(game, config, jax.random.key(0))


@functools.partial(jax.jit, static_argnums=0)
def apply(net, variables, planes):
    return net.apply(variables, planes)


def positions(game, num_plies=4, num_games=8):
    """Positions `[num_games]` after some random moves."""
    games = random_games.play(game, num_games, seed=5)
    return jax.tree.map(lambda x: jnp.asarray(x[num_plies]), games.position)


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_every_action_has_a_logit_and_every_position_a_value(game):
    variables = fresh(game, TINY)
    evaluate = network.evaluator(game, network.build(game, TINY), variables)
    prediction = jax.jit(evaluate)(jax.random.key(1), positions(game))
    assert prediction.prior_logits.shape == (8, game.num_actions)
    assert prediction.value.shape == (8,)
    assert (prediction.prior_logits.dtype, prediction.value.dtype) == (jnp.float32, jnp.float32)
    assert np.isfinite(prediction.prior_logits).all()


def test_value_and_score_are_means_over_the_chances_of_all_final_scores():
    game = GAMES[0]
    net, variables = network.build(game, TINY), fresh(game, TINY)
    planes = game.planes(positions(game))
    prediction = net.apply(variables, planes, method="predict")
    chance = np.exp(prediction.score_logits) / np.exp(prediction.score_logits).sum(-1)[:, None]
    scores = np.arange(-16, 17, 2)
    np.testing.assert_array_equal(game.scores, scores)
    np.testing.assert_allclose(
        prediction.value, chance[:, 9:].sum(-1) - chance[:, :8].sum(-1), atol=1e-6
    )
    np.testing.assert_allclose(prediction.score, (chance * scores).sum(-1) / 16, atol=1e-6)
    evaluation = net.apply(variables, planes)
    np.testing.assert_array_equal(evaluation.score, prediction.score)


@pytest.mark.parametrize("num_games", [64, 65, 200])
def test_a_batch_larger_than_the_cache_is_evaluated_as_a_whole_one(num_games):
    game = GAMES[1]
    variables = fresh(game, TINY)  # 64 positions at a time
    position = positions(game, 20, num_games)
    whole = apply(network.build(game, TINY), variables, game.planes(position))
    prediction = jax.jit(network.folded_evaluator(game, TINY, variables))(
        jax.random.key(0), position
    )
    assert len(set(np.asarray(whole.value).tolist())) > num_games / 2
    np.testing.assert_allclose(prediction.value, whole.value, atol=1e-6)
    np.testing.assert_allclose(prediction.prior_logits, whole.prior_logits, atol=1e-5)


def test_an_untrained_network_calls_every_position_about_even():
    game = GAMES[1]
    config = network.NetworkConfig()
    variables = fresh(game, config)
    value = apply(
        network.build(game, config), variables, game.planes(positions(game, 20, 64))
    ).value
    assert np.abs(value).max() < 0.5


@pytest.mark.parametrize(
    ("kind", "channels"), [("two_planes", 2), ("signed_plane", 1), ("with_moves", 4)]
)
def test_the_input_has_one_plane_a_side_or_a_single_one_or_moves_as_well(kind, channels):
    config = TINY.model_copy(update={"input": kind})
    variables = fresh(GAMES[0], config)
    assert variables["params"]["stem_kernel"].shape == (3, 3, channels, 4)


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_planes_of_moves_are_the_legal_moves_of_both_sides(game):
    config, position = TINY.model_copy(update={"input": "with_moves"}), positions(game)
    planes = network.planes_of(game, config, position)
    np.testing.assert_array_equal(planes[..., :2], game.planes(position))
    for side, plane in ((position, 2), (type(position)(position.opponent, position.player), 3)):
        legal = np.asarray(game.legal_mask(side))[:, : planes[0, ..., 0].size]
        np.testing.assert_array_equal(planes[..., plane].reshape(legal.shape), legal)


def test_the_signed_plane_tells_the_sides_apart():
    config = TINY.model_copy(update={"input": "signed_plane"})
    game = GAMES[0]
    variables = fresh(game, config)
    net = network.build(game, config)
    planes = game.planes(positions(game))
    own, other = (apply(net, variables, x).prior_logits for x in (planes, planes[..., ::-1]))
    assert np.abs(own - other).max() > 1e-3


def test_without_normalisation_there_are_no_statistics_and_nothing_to_fold():
    config = TINY.model_copy(update={"normalisation": "none"})
    net = network.build(GAMES[0], config)
    variables = fresh(GAMES[0], config)
    assert set(variables) == {"params"}
    assert network.fold(net, variables) == (net, variables)


def test_the_folded_network_is_the_same_function():
    game, variables = tiny_run.game(), tiny_run.trained().variables()
    deviation = variables["batch_stats"]["block0_second_norm"]["var"]
    assert np.abs(deviation - 1).max() > 0.1  # training has moved the statistics
    net = network.build(game, tiny_run.settings().network)
    folded_net, folded = network.fold(net, variables)
    assert set(folded) == {"params"}
    planes = game.planes(positions(game))
    one, other = apply(net, variables, planes), apply(folded_net, folded, planes)
    # The same sums of float32 in another order.
    np.testing.assert_allclose(one.prior_logits, other.prior_logits, atol=1e-5)
    np.testing.assert_allclose(one.value, other.value, atol=1e-5)


def test_folding_changes_neither_the_network_nor_its_variables():
    game, variables = tiny_run.game(), tiny_run.trained().variables()
    before = jax.tree.map(np.copy, variables)
    network.fold(network.build(game, tiny_run.settings().network), variables)
    tiny_run.assert_same_bits(before, variables)


POOLED = TINY.model_copy(update={"heads": "pooled", "policy_units": 3, "normalisation": "none"})


def perturbed(variables):
    rng = np.random.default_rng(0)
    return jax.tree.map(lambda x: x + 0.3 * rng.normal(size=x.shape).astype(np.float32), variables)


def test_a_network_for_4x4_gives_the_same_policy_features_on_6x6():
    small, large = GAMES[:2]
    variables = perturbed(fresh(small, POOLED))
    carried, others = network.carry_over(POOLED, variables, small, large)
    assert others == []
    planes = large.planes(positions(large, 20))
    before = network.build(small, POOLED).clone(num_actions=large.num_actions)
    before, after = (
        jax.jit(functools.partial(net.apply, method="predict"))(v, planes)
        for net, v in ((before, variables), (network.build(large, POOLED), carried))
    )
    np.testing.assert_array_equal(after.prior_logits, before.prior_logits)
    assert after.prior_logits.shape == (8, 37)
    assert after.prior_logits[:, :-1].std() > 1e-2
    # Scores of 0, a half and all of the squares: 0, 8 and 16 of 16; 0, 18 and 36 of 36.
    for old, new in ((0, 0), (4, 9), (8, 18), (12, 27), (16, 36)):
        np.testing.assert_allclose(
            after.score_logits[:, new], before.score_logits[:, old], atol=1e-5
        )
    # A score of 4 of 36 is 16 / 9 of 16, between 0 and 2.
    between = (before.score_logits[:, 8] + 8 * before.score_logits[:, 9]) / 9
    np.testing.assert_allclose(after.score_logits[:, 20], between, atol=1e-5)


def test_flat_heads_hand_on_the_tower_alone():
    small, large = GAMES[:2]
    variables = fresh(small, TINY)
    carried, others = network.carry_over(TINY, variables, small, large)
    assert set(others) == {"policy_logits", "value_hidden", "score_output"}
    kept = {name: x for name, x in variables["params"].items() if name not in others}
    tiny_run.assert_same_bits(carried, variables | {"params": kept})


# Without this option XLA's CPU backend keeps bits that bfloat16 would round away.
rounding_jit = functools.partial(jax.jit, compiler_options={"xla_allow_excess_precision": False})
PRECISE = network.NetworkConfig(precision="float32")
ROUNDED = PRECISE.model_copy(update={"precision": "bfloat16"})


@functools.cache
def seasoned():
    """Positions of seven stages, and a network normalised by their statistics.

    Its heads are scaled until values and policies differ from even about as a trained network's.
    """
    game = GAMES[1]
    stages = [positions(game, num_plies, 64) for num_plies in range(2, 30, 4)]
    position = jax.tree.map(lambda *x: jnp.concatenate(x), *stages)
    variables = fresh(game, PRECISE)
    training = network.build(game, PRECISE).clone(is_training=True)
    train = jax.jit(functools.partial(training.apply, mutable=["batch_stats"]))
    _, updated = train(variables, game.planes(position))
    batch_stats = jax.tree.map(
        lambda new, old: old + (new - old) / 0.05, updated["batch_stats"], variables["batch_stats"]
    )
    params = dict(variables["params"])
    params["score_output"] = jax.tree.map(lambda x: 40 * x, params["score_output"])
    params["policy_logits"] = jax.tree.map(lambda x: 3 * x, params["policy_logits"])
    return position, {"params": params, "batch_stats": batch_stats}


def evaluate(config, *, is_folded=False):
    """Returns values and log policies of the positions."""
    game = GAMES[1]
    position, variables = seasoned()

    @rounding_jit
    def evaluate(variables):
        net = network.build(game, config)
        if is_folded:
            net, variables = network.fold(net, variables)
        prediction = apply(net, variables, game.planes(position))
        logits = search_tree.mask_illegal(prediction.prior_logits, game.legal_mask(position))
        return prediction.value, jax.nn.log_softmax(logits)

    return evaluate(variables)


@pytest.mark.slow
@pytest.mark.parametrize("is_folded", [False, True], ids=["normalised", "folded"])
def test_in_bfloat16_values_and_policies_hardly_change(is_folded):
    value, log_policy = evaluate(PRECISE)
    policy = np.exp(log_policy)
    assert value.std() > 0.2
    assert -(policy * log_policy).sum(axis=-1).mean() < 1.2
    rounded_value, rounded_log_policy = evaluate(ROUNDED, is_folded=is_folded)
    assert (rounded_value.dtype, rounded_log_policy.dtype) == (jnp.float32, jnp.float32)
    error = np.abs(rounded_value - value)
    divergence = (policy * (log_policy - rounded_log_policy)).sum(axis=-1)
    # Three times the measured values: 0.0049, 0.034, 1.3e-4 nats and 1.1e-3 nats.
    assert 0 < error.mean() < 0.015
    assert error.max() < 0.1
    assert 0 < divergence.mean() < 4e-4
    assert divergence.max() < 4e-3


def test_on_accelerators_the_convolutions_of_the_tower_alone_are_bfloat16():
    game, config = GAMES[1], network.NetworkConfig()
    position, variables = seasoned()
    traced = jax.jit(network.build(game, config).apply).trace(variables, game.planes(position))
    lines = traced.lower(lowering_platforms=("cuda",)).as_text().splitlines()
    prediction = {}
    for name in ("convolution", "dot_general", "add", "multiply", "maximum", "exponential"):
        matching = [line for line in lines if f"stablehlo.{name} " in line.replace("(", " ")]
        prediction[name] = [set(re.findall(r"x(f32|bf16)>", line)) for line in matching]
    assert prediction.pop("convolution") == [{"bf16"}] * (1 + 2 * config.num_blocks)
    for name, kinds in prediction.items():
        assert kinds, name
        assert set().union(*kinds) == {"f32"}, name


@pytest.mark.slow
def test_in_bfloat16_gradients_keep_their_direction():
    game = GAMES[1]
    position, variables = seasoned()
    legal = game.legal_mask(position)
    has_won = jax.random.bernoulli(jax.random.key(3), shape=(len(legal),))
    examples = replay.Examples(
        board=game.pack(position),
        policy=legal / legal.sum(axis=-1, keepdims=True),
        value=jnp.where(has_won, 1.0, -1.0),
        score=jnp.where(has_won, 6, -6),
    )

    def gradient(config):
        training = network.build(game, config).clone(is_training=True)

        def loss(params):
            return learner.loss(
                game,
                training,
                params,
                variables["batch_stats"],
                jax.random.key(4),
                examples,
                config=learner.LearnerConfig(),
            )[0]

        return rounding_jit(jax.grad(loss))(variables["params"])

    one, other = (jax.flatten_util.ravel_pytree(gradient(x))[0] for x in (PRECISE, ROUNDED))
    cosine = (one @ other) / np.sqrt((one @ one) * (other @ other))
    assert 0.995 < cosine < 1  # measured: 0.998


class Mirror:
    """A stand-in for a network: its logits are the mover's pieces."""

    config = TINY
    block_size = 64

    def apply(self, variables, planes):
        del variables
        shown = planes[..., 0].reshape(len(planes), -1).astype(jnp.float32)
        weight = jnp.arange(1.0, shown.shape[1] + 1)[None]
        logits = jnp.concatenate([shown, jnp.full((len(planes), 1), 7.0)], axis=1)
        return improvement.Evaluation(prior_logits=logits, value=(shown * weight).sum(axis=1))


def test_logits_are_turned_back_to_the_position_as_it_was():
    game = GAMES[1]
    position = positions(game, 20, 64)
    evaluate = network.evaluator(game, Mirror(), {}, symmetry="random")
    prediction = evaluate(jax.random.key(0), position)
    pieces = np.asarray(game.planes(position))[..., 0].reshape(64, -1)
    np.testing.assert_array_equal(prediction.prior_logits[:, :-1], pieces)
    np.testing.assert_array_equal(prediction.prior_logits[:, -1], 7.0)


def test_all_eight_symmetries_are_shown_and_nothing_else():
    game = GAMES[1]
    position = jax.tree.map(lambda x: jnp.repeat(x[:1], 400, axis=0), positions(game, 20))
    plain, turned = (
        network.evaluator(game, Mirror(), {}, symmetry=which) for which in ("none", "random")
    )
    shown = np.asarray(turned(jax.random.key(0), position).value)
    pieces = np.asarray(game.planes(position))[0, ..., 0].reshape(-1)
    weight = np.arange(1, pieces.size + 1)
    eight = {float((pieces[p] * weight).sum()) for p in game.square_symmetries}
    assert len(eight) == 8
    assert set(shown) == eight
    assert set(np.asarray(plain(jax.random.key(0), position).value)) < eight


@pytest.mark.slow
def test_averaging_takes_the_mean_over_all_eight_views():
    game = tiny_run.game()
    config, variables = tiny_run.settings().network, tiny_run.trained().variables()
    permutations = game.square_symmetries
    undo = symmetry.inverse(permutations)
    net, folded = network.fold(network.build(game, config), variables)
    position = positions(game)
    planes = game.planes(position)
    views = []
    for k in range(8):
        which = jnp.full(len(planes), k)
        seen = apply(net, folded, symmetry.move_planes(permutations, which, planes))
        policies = jax.nn.softmax(symmetry.move_policy(undo, which, seen.prior_logits))
        views.append((policies, seen.value))
    policies, values = (np.mean(np.stack(several), axis=0) for several in zip(*views, strict=True))

    evaluate = network.folded_evaluator(game, config, variables, symmetry="average")
    prediction = evaluate(jax.random.key(0), position)
    np.testing.assert_allclose(jax.nn.softmax(prediction.prior_logits), policies, atol=1e-6)
    np.testing.assert_allclose(prediction.value, values, atol=1e-6)
