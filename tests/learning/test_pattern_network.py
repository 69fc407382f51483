"""Pattern networks: table entries added by hand, symmetries, folding and steps row by row."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import random_games

from azo.games import othello, patterns, symmetry, tictactoe
from azo.learning import learner, network, network_config, pattern_network, portable, row_optimiser

FOUR = othello.Othello(4)
SHAPE = network_config.PatternsConfig(set="small", num_features=3, hidden_units=(5,))
CONFIG = network.NetworkConfig(kind="patterns", patterns=SHAPE)
COUNTS = SHAPE.model_copy(update={"has_move_counts": True})
LINEAR = SHAPE.model_copy(update={"num_features": 1, "hidden_units": (), "num_stages": 3})


def configured(shape):
    return CONFIG.model_copy(update={"patterns": shape})


def seasoned(game, config=CONFIG):
    """Variables whose tables hold small multiples of 1/64, so that their sums are exact."""
    variables = network.init(game, config, jax.random.key(0))
    shape = variables["params"]["tables"].shape
    tables = jax.random.randint(jax.random.key(1), shape, -32, 33) / 64.0
    params = variables["params"] | {"tables": tables}
    return {"params": params}


def positions(game, num_plies=5, num_games=8):
    games = random_games.play(game, num_games, seed=5)
    return jax.tree.map(lambda x: jnp.asarray(x[num_plies]), games.position)


@functools.partial(jax.jit, static_argnums=0)
def predict(net, variables, planes):
    return net.apply(variables, planes, method="predict")


def predicted(game, config, variables, position):
    planes = network.planes_of(game, config, position)
    return predict(network.build(game, config), variables, planes)


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


@pytest.mark.parametrize("shape", [SHAPE, LINEAR, COUNTS], ids=["layers", "linear", "counts"])
@pytest.mark.parametrize("game", [FOUR, othello.Othello(8)], ids=str)
def test_the_network_commutes_with_all_symmetries_to_the_last_bit(game, shape):
    config = configured(shape)
    variables, position = seasoned(game, config), positions(game)
    whole = network.build(game, config), variables
    for net, weights in [whole, network.fold(*whole)]:
        planes = network.planes_of(game, config, position)
        plain = predict(net, weights, planes)
        for k in range(8):
            which = jnp.full(8, k)
            moved = symmetry.move_planes(game.square_symmetries, which, planes)
            seen = predict(net, weights, moved)
            policy = symmetry.move_policy(game.square_symmetries, which, plain.prior_logits)
            np.testing.assert_array_equal(seen.prior_logits, policy)
            np.testing.assert_array_equal(seen.score_logits, plain.score_logits)


@pytest.mark.parametrize("name", ["small", "logistello", "edax"])
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


def test_one_feature_without_layers_is_the_mean_score_of_a_normal_distribution():
    game, config = othello.Othello(8), configured(LINEAR)
    variables, position = seasoned(game, config), positions(game, 30)
    variables["params"]["tables"] /= 64
    prediction = predicted(game, config, variables, position)
    found = patterns.pattern_set("small", 8)
    planes = np.asarray(game.planes(position)).reshape(8, -1, 2)
    rows = (planes[..., 0] + 2 * planes[..., 1]) @ found.weights(found.images)
    rows += found.first_rows[found.images.pattern]
    stage = planes.sum(axis=(1, 2)) * 3 // 65
    assert set(stage) == {1}
    mean = np.asarray(variables["params"]["tables"])[1, rows, 0].sum(axis=1)
    logits = np.asarray(prediction.score_logits)
    np.testing.assert_allclose(logits, -2 * (game.scores / 64 - mean[:, None]) ** 2, rtol=1e-4)


def test_layers_without_features_and_many_features_without_layers_are_refused():
    with pytest.raises(ValueError, match="num_features is 16, set it to 1"):
        network_config.PatternsConfig(hidden_units=())


def test_an_exported_pattern_network_takes_any_number_of_positions():
    variables, position = seasoned(FOUR), positions(FOUR)
    exported = portable.export(FOUR, CONFIG, variables, platforms=("cpu",))
    planes = network.planes_of(FOUR, CONFIG, position)
    logits, value = exported.call(planes.astype(jnp.float32))
    expected = predict(network.build(FOUR, CONFIG), variables, planes)
    np.testing.assert_array_equal(logits, expected.prior_logits)
    np.testing.assert_allclose(value, expected.value, atol=1e-6)


def test_ownership_needs_a_tower():
    with pytest.raises(ValueError, match="no head for ownership: set has_ownership_head to false"):
        network.NetworkConfig(kind="patterns", has_ownership_head=True)


def test_the_number_of_discs_and_of_moves_changes_the_score():
    """The same tables of zeros see positions apart only by discs, moves and parity."""
    variables = network.init(FOUR, CONFIG, jax.random.key(0))
    variables["params"]["score_output"]["kernel"] += 1
    start = predicted(FOUR, CONFIG, variables, FOUR.start(1)).score
    later = predicted(FOUR, CONFIG, variables, positions(FOUR)).score
    assert len({float(x) for x in (*start, *later)}) > 2


def test_only_rows_with_a_gradient_move_and_only_their_means_decay():
    optimiser = row_optimiser.scale_met_rows()
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
    settings = network.NetworkConfig(kind="patterns", patterns={"num_features": 2})
    optimiser = learner.make_optimiser(config, settings)
    params = {"tables": jnp.zeros((1, 2, 12)), "hidden0": {"bias": jnp.zeros(2)}}
    ones = jax.tree.map(jnp.ones_like, params)
    updates, _ = optimiser.update(ones, optimiser.init(params), params)
    np.testing.assert_allclose(updates["tables"][..., :2], -0.5, rtol=1e-3)
    np.testing.assert_allclose(updates["tables"][..., 2:], -0.25, rtol=1e-3)
    np.testing.assert_allclose(updates["hidden0"]["bias"], -1e-3, rtol=1e-3)


def test_the_position_weighs_the_counts_of_its_moves():
    game, config = othello.Othello(8), configured(COUNTS)
    variables, position = seasoned(game, config), positions(game, 20)
    plain = predicted(game, CONFIG, _without_counts(variables), position).prior_logits
    seen = predicted(game, config, variables, position).prior_logits
    added = np.asarray(seen - plain)[:, :64]
    is_legal = np.asarray(game.legal_mask(position))[:, :64]
    np.testing.assert_array_equal(added[~is_legal], 0)
    assert np.ptp(added[is_legal]) > 0.1


def test_a_board_that_is_not_square_has_no_patterns():
    class Wide(othello.Othello):
        board_shape = (4, 6)

    with pytest.raises(ValueError, match="square board, not 4 x 6"):
        network.build(Wide(4), CONFIG)
    assert isinstance(network.build(FOUR, CONFIG), pattern_network.PatternNetwork)


def _without_counts(variables):
    params = {name: x for name, x in variables["params"].items() if name != "move_weights"}
    return {"params": params}


def test_a_network_with_more_stages_is_the_one_it_was():
    shape = configured(SHAPE.model_copy(update={"num_stages": 3}))
    before = seasoned(FOUR)
    after = network.with_stages(before, CONFIG, shape)
    for num_plies in (0, 4, 10):
        position = positions(FOUR, num_plies)
        expected, found = (
            predicted(FOUR, config, variables, position)
            for config, variables in ((CONFIG, before), (shape, after))
        )
        np.testing.assert_array_equal(found.score, expected.score)
        np.testing.assert_array_equal(found.prior_logits, expected.prior_logits)
    assert after["params"]["tables"].shape[0] == 3
    assert network.with_stages(before, CONFIG, CONFIG) is before


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (SHAPE.model_copy(update={"num_stages": 2}), SHAPE.model_copy(update={"num_stages": 4})),
        (SHAPE, SHAPE.model_copy(update={"num_stages": 2, "num_features": 4})),
    ],
)
def test_stages_are_added_to_a_network_with_one_and_the_same_features(one, other):
    assert network.with_stages({}, configured(one), configured(other)) is None


def test_stages_are_for_patterns():
    tower = network.NetworkConfig()
    staged = tower.model_copy(update={"patterns": SHAPE.model_copy(update={"num_stages": 2})})
    assert network.with_stages({}, tower, staged) is None
