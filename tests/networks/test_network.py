"""The network as search and learning see it; `tiny_run` gives one with finalised statistics."""

import functools

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest
from support.builders import tiny_run
from support.builders.random_games import positions

from azo.games import othello, symmetry, tictactoe
from azo.networks import base, initial_variables, network

TINY = network.NetworkConfig(kind="residual", num_blocks=1, num_channels=4, value_units=4)
GAMES = [othello.Othello(4), othello.Othello(6), othello.Othello(8), tictactoe.TicTacToe()]


def fresh(game, config):
    return initial_variables.init(game, config, jax.random.key(0))


@functools.partial(jax.jit, static_argnums=0)
def apply(net, variables, planes):
    return net.apply(variables, planes)


def test_value_and_score_are_means_over_the_chances_of_all_final_scores():
    game = GAMES[0]
    net, variables = network.build(game, TINY), fresh(game, TINY)
    planes = game.planes(positions(game, 4))
    prediction = net.apply(variables, planes)
    chance = np.exp(prediction.score_logits) / np.exp(prediction.score_logits).sum(-1)[:, None]
    scores = np.arange(-16, 17, 2)
    np.testing.assert_array_equal(game.scores, scores)
    np.testing.assert_allclose(
        prediction.value, chance[:, 9:].sum(-1) - chance[:, :8].sum(-1), atol=1e-6
    )
    np.testing.assert_allclose(prediction.score, (chance * scores).sum(-1) / 16, atol=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize("num_games", [65, 200])
def test_a_batch_larger_than_the_cache_is_evaluated_as_a_whole_one(num_games):
    game = GAMES[1]
    variables = fresh(game, TINY)  # 64 positions at a time
    position = positions(game, 20, num_games)
    whole = apply(network.build(game, TINY), variables, game.planes(position))
    evaluate = jax.jit(network.folded_evaluator(game, TINY, variables))
    prediction = evaluate(jax.random.key(0), position)
    assert np.abs(whole.value).max() < 0.5  # an untrained network is undecided
    assert len(set(np.asarray(whole.value).tolist())) > num_games / 2
    np.testing.assert_allclose(prediction.value, whole.value, atol=1e-6)
    np.testing.assert_allclose(prediction.prior_logits, whole.prior_logits, atol=1e-5)


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_planes_of_moves_are_the_legal_moves_of_both_sides(game):
    config, position = TINY.model_copy(update={"input": "with_moves"}), positions(game, 4)
    planes = network.planes_of(game, config, position)
    np.testing.assert_array_equal(planes[..., :2], game.planes(position))
    for side, plane in ((position, 2), (type(position)(position.opponent, position.player), 3)):
        legal = np.asarray(game.legal_mask(side))[:, : planes[0, ..., 0].size]
        np.testing.assert_array_equal(planes[..., plane].reshape(legal.shape), legal)


POOLED = TINY.model_copy(update={"heads": "pooled", "policy_units": 3, "normalisation": "none"})


@pytest.mark.thorough
def test_a_network_for_4x4_gives_the_same_policy_features_on_6x6():
    small, large = GAMES[:2]
    rng = np.random.default_rng(0)
    variables = jax.tree.map(
        lambda x: x + 0.3 * rng.normal(size=x.shape).astype(np.float32), fresh(small, POOLED)
    )
    carried, others = initial_variables.carry_over(POOLED, variables, small, large)
    assert others == []
    planes = large.planes(positions(large, 20))
    before = network.build(small, POOLED).clone(num_actions=large.num_actions)
    before, after = (
        jax.jit(net.apply)(v, planes)
        for net, v in ((before, variables), (network.build(large, POOLED), carried))
    )
    np.testing.assert_array_equal(after.prior_logits, before.prior_logits)
    assert after.prior_logits[:, :-1].std() > 1e-2
    # Scores of 0, a half and all of the squares: 0, 8 and 16 of 16; 0, 18 and 36 of 36.
    same = [after.score_logits[:, 9 * k] for k in range(5)]
    np.testing.assert_allclose(same, [before.score_logits[:, 4 * k] for k in range(5)], atol=1e-5)
    # A score of 4 of 36 is 16 / 9 of 16, between 0 and 2.
    between = (before.score_logits[:, 8] + 8 * before.score_logits[:, 9]) / 9
    np.testing.assert_allclose(after.score_logits[:, 20], between, atol=1e-5)


def test_all_eight_symmetries_are_shown_and_logits_are_turned_back():
    game = GAMES[1]
    position = jax.tree.map(lambda x: jnp.repeat(x[:1], 400, axis=0), positions(game, 20))
    pieces = np.asarray(game.planes(position))[0, ..., 0].reshape(-1)
    eight = {float((pieces[p] * np.arange(1, 37)).sum()) for p in game.square_symmetries}
    assert len(eight) == 8
    for which, num_views in (("none", 1), ("random", 8)):
        evaluate = network.evaluator(game, Mirror(), {}, symmetry=which)
        prediction = evaluate(jax.random.key(0), position)
        shown = set(np.asarray(prediction.value))
        assert shown <= eight
        assert len(shown) == num_views
        expected = np.broadcast_to(np.append(pieces, 7), (400, 37))
        np.testing.assert_array_equal(prediction.prior_logits, expected)


class Mirror:
    """A stand-in for a network: its logits are the mover's pieces."""

    config = TINY
    block_size = 64

    def evaluate(self, variables, planes):
        del variables
        shown = planes[..., 0].reshape(len(planes), -1).astype(jnp.float32)
        weight = jnp.arange(1.0, shown.shape[1] + 1)[None]
        logits = jnp.concatenate([shown, jnp.full((len(planes), 1), 7.0)], axis=1)
        value = (shown * weight).sum(axis=1)
        return base.Prediction(logits, value[:, None], value, value)

    def on_accelerator(self, variables):
        return functools.partial(self.evaluate, variables)


@pytest.mark.slow
def test_averaging_takes_the_mean_over_all_eight_views():
    game = tiny_run.game()
    config, variables = tiny_run.settings().network, tiny_run.trained().variables()
    permutations = game.square_symmetries
    undo = symmetry.inverse(game.action_symmetries)
    net, folded = network.fold(network.build(game, config), variables)
    position = positions(game, 4)
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
