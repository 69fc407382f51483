"""Pattern networks: table entries added by hand, symmetries, folding and steps row by row."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.builders.random_games import positions

from azo.games import othello, patterns, symmetry, tictactoe
from azo.learning import learner, optimisers
from azo.networks import initial_variables, network, network_config, pattern_network

FOUR = othello.Othello(4)
SHAPE = network_config.PatternsConfig(
    set="small", num_features=3, hidden_units=(5,), has_move_counts=False
)
CONFIG = network.NetworkConfig(kind="patterns", patterns=SHAPE)
COUNTS = SHAPE.model_copy(update={"has_move_counts": True})


def configured(shape):
    return CONFIG.model_copy(update={"patterns": shape})


def seasoned(game, config=CONFIG):
    """Variables whose tables hold small multiples of 1/64, so that their sums are exact."""
    variables = initial_variables.init(game, config, jax.random.key(0))
    shape = variables["params"]["tables"].shape
    tables = jax.random.randint(jax.random.key(1), shape, -32, 33) / 64.0
    params = variables["params"] | {"tables": tables}
    return {"params": params}


@functools.partial(jax.jit, static_argnums=0)
def predict(net, variables, planes):
    return net.apply(variables, planes)


def predicted(game, config, variables, position):
    planes = network.planes_of(game, config, position)
    return predict(network.build(game, config), variables, planes)


@pytest.mark.thorough
@pytest.mark.parametrize("game", [FOUR, othello.Othello(6), tictactoe.TicTacToe()], ids=str)
def test_logits_are_sums_of_the_entries_of_all_images_on_a_square(game):
    variables, position = seasoned(game), positions(game, 3)
    size = game.board_shape[0]
    found = patterns.pattern_set("small", size)
    logits = predicted(game, CONFIG, variables, position).prior_logits
    table = np.asarray(variables["params"]["tables"])[0]
    planes = np.asarray(game.planes(position)).reshape(8, -1, 2)
    digits = planes[..., 0] + 2 * planes[..., 1]
    expected = np.zeros((8, game.num_actions))
    for squares, number in zip(found.images.squares, found.images.pattern, strict=True):
        squares = squares[squares >= 0]
        for row, board in enumerate(digits):
            content = sum(3**i * int(board[square]) for i, square in enumerate(squares))
            entry = table[found.first_rows[number] + content]
            expected[row, squares] += entry[3 : 3 + len(squares)]
    np.testing.assert_array_equal(logits, expected)


@pytest.mark.thorough
@pytest.mark.parametrize("shape", [SHAPE, COUNTS], ids=["layers", "counts"])
@pytest.mark.parametrize("game", [FOUR, othello.Othello(8)], ids=str)
def test_the_network_commutes_with_all_symmetries_to_the_last_bit(game, shape):
    config = configured(shape)
    variables, position = seasoned(game, config), positions(game, 5)
    whole = network.build(game, config), variables
    for net, weights in [whole, network.fold(*whole)]:
        planes = network.planes_of(game, config, position)
        plain = predict(net, weights, planes)
        for k in range(8):
            which = jnp.full(8, k)
            moved = symmetry.move_planes(game.square_symmetries, which, planes)
            seen = predict(net, weights, moved)
            policy = symmetry.move_policy(game.action_symmetries, which, plain.prior_logits)
            np.testing.assert_array_equal(seen.prior_logits, policy)
            np.testing.assert_array_equal(seen.score_logits, plain.score_logits)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["small", "logistello"])
def test_the_folded_network_is_the_same_function_with_half_of_the_images(name):
    game, config = othello.Othello(6), configured(COUNTS.model_copy(update={"set": name}))
    variables, position = seasoned(game, config), positions(game, 20)
    net, folded = network.fold(network.build(game, config), variables)
    planes = network.planes_of(game, config, position)
    plain, seen = predicted(game, config, variables, position), predict(net, folded, planes)
    np.testing.assert_array_equal(seen.prior_logits, plain.prior_logits)
    np.testing.assert_array_equal(seen.score_logits, plain.score_logits)
    found = patterns.pattern_set(name, 6)
    assert len(found.merged.squares) < 0.8 * len(found.images.squares)
    assert network.fold(net, folded) == (net, folded)


def test_only_rows_with_a_gradient_move_and_only_their_means_decay():
    optimiser = optimisers.scale_by_row_rms()
    state = optimiser.init(jnp.zeros((1, 4, 3)))
    gradient = jnp.zeros((1, 4, 3)).at[0, 2].set(jnp.array([3.0, 0.0, -4.0]))
    other = jnp.zeros((1, 4, 3)).at[0, 1].set(1.0)
    first, state = optimiser.update(gradient, state)
    unmoved = np.delete(np.asarray(first[0]), 2, axis=0)
    np.testing.assert_array_equal(unmoved, 0)
    np.testing.assert_allclose(first[0, 2], [1, 0, -1], rtol=1e-3)
    second, state = optimiser.update(other, state)
    np.testing.assert_array_equal(second[0, 2], 0)
    np.testing.assert_allclose(state.squares[0, 2], [9e-3, 0, 16e-3], rtol=1e-4)
    # Row 1 was met once in two steps: its step is longer by sqrt(1 - 0.999**2) / sqrt(1 - 0.999).
    np.testing.assert_allclose(second[0, 1], 1.41386, rtol=1e-3)


def test_features_logits_and_layers_have_their_own_rates():
    config = learner.LearnerConfig(
        learning_rate=1e-3, table_feature_rate=0.5, table_logit_rate=0.25, warmup_steps=0
    )
    settings = network.NetworkConfig(
        kind="patterns", patterns={"num_features": 2, "has_move_counts": False}
    )
    optimiser = learner.make_optimiser(config, settings)
    params = {"tables": jnp.zeros((1, 2, 12)), "hidden0": {"bias": jnp.zeros(2)}}
    ones = jax.tree.map(jnp.ones_like, params)
    updates, _ = optimiser.update(ones, optimiser.init(params), params)
    np.testing.assert_allclose(updates["tables"][..., :2], -0.5, rtol=1e-3)
    np.testing.assert_allclose(updates["tables"][..., 2:], -0.25, rtol=1e-3)
    np.testing.assert_allclose(updates["hidden0"]["bias"], -1e-3, rtol=1e-3)


def test_a_board_that_is_not_square_has_no_patterns():
    class Wide(othello.Othello):
        board_shape = (4, 6)

    with pytest.raises(ValueError, match="square board, not 4 x 6"):
        network.build(Wide(4), CONFIG)
    assert isinstance(network.build(FOUR, CONFIG), pattern_network.PatternNetwork)
