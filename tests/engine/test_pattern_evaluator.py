"""The host's evaluation of pattern networks is that of the device."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.builders import random_games

from azo.coach import attribution
from azo.engine import engine_settings, live_search, network_evaluator, pattern_evaluator
from azo.games import othello
from azo.networks import initial_variables, network, network_config
from azo.opponents import players
from azo.search import improvement

LAYERS = network_config.PatternsConfig(num_features=5, hidden_units=(7, 6), has_move_counts=False)
COUNTS = LAYERS.model_copy(update={"has_move_counts": True})
SMALL = LAYERS.model_copy(update={"set": "small", "hidden_units": (4,)})


def trained(game, shape):
    """A network of random weights, all of them different from 0."""
    settings = network.NetworkConfig(kind="patterns", patterns=shape)
    variables = initial_variables.init(game, settings, jax.random.key(0))
    leaves, tree = jax.tree.flatten(variables)
    keys = jax.random.split(jax.random.key(1), len(leaves))
    leaves = [x + jax.random.normal(k, x.shape) / 20 for x, k in zip(leaves, keys, strict=True)]
    return players.NetworkPlayer(
        jax.tree.unflatten(tree, leaves), game, settings, improvement.SearchConfig()
    )


def words(game, num_games=40):
    """Discs of both sides after 0 to 7 and 20 random plies on the host, and legal actions."""
    games = random_games.play(game, num_games, seed=2)
    kept = jax.tree.map(lambda x: jnp.concatenate([*x[:8], x[20]]), games.position)
    packed = np.asarray(game.pack(kept)).astype(np.uint64)
    discs = [packed[:, i] | packed[:, i + 1] << np.uint64(32) for i in (0, 2)]
    return *discs, np.asarray(game.legal_mask(kept))


@pytest.mark.thorough
@pytest.mark.parametrize("shape", [LAYERS, COUNTS, SMALL], ids=["layers", "counts", "small"])
@pytest.mark.parametrize("size", [6, 8])
def test_it_gives_what_the_compiled_network_gives(size, shape):
    game = othello.Othello(size)
    network_player = trained(game, shape)
    player, opponent, is_legal = words(game)
    number = len(player) + 3
    params = jax.device_get(network_player.variables["params"])
    on_host = pattern_evaluator.PatternEvaluator(game, shape, params)
    seen = on_host.request(player, opponent, batch_size=number)
    on_device = network_evaluator.NetworkEvaluator(
        game, network_player.network_config, network_player.variables
    )
    expected = np.asarray(on_device.request(player, opponent, batch_size=number))
    assert seen.shape == (number, game.num_actions + 2)
    seen, expected = seen[:-3], expected[:-3]
    np.testing.assert_allclose(seen[:, :-2][is_legal], expected[:, :-2][is_legal], atol=3e-6)
    np.testing.assert_allclose(seen[:, -2:], expected[:, -2:], atol=3e-6)
    assert np.ptp(seen[:, :-2][is_legal]) > 0.1


def test_whole_simulations_search_like_requests():
    game = othello.Othello(6)
    params = jax.device_get(trained(game, COUNTS).variables["params"])
    plain = engine_settings.EngineConfig()
    trees = []
    for is_whole in (True, False):
        evaluator = pattern_evaluator.PatternEvaluator(game, COUNTS, params)
        if not is_whole:
            evaluator.simulate = None
        search = live_search.LiveSearch(evaluator, plain)
        assert search.grow(engine_settings.Limits(num_simulations=700)) == 700
        trees.append((search.num_evaluations, search.look()))
    assert trees[0] == trees[1]
    assert trees[0][0] > 500


@pytest.mark.parametrize("shape", [LAYERS, COUNTS, SMALL], ids=["layers", "counts", "small"])
@pytest.mark.parametrize("size", [6, 8])
def test_parts_of_the_board_add_up_to_the_difference_of_two_estimates(size, shape, monkeypatch):
    monkeypatch.setattr(attribution, "_STEPS", 3000)
    game = othello.Othello(size)
    params = jax.device_get(trained(game, shape).variables["params"])
    evaluator = pattern_evaluator.PatternEvaluator(game, shape, params)
    evaluator.weights.table[:] *= 30
    player, opponent, _ = words(game)
    scores = size**2 * evaluator.request(player, opponent, batch_size=len(player))[:, -1]
    differences = []
    for one in range(0, len(player), 40):  # the next game has as many discs
        sides = ((player[i], opponent[i]) for i in (one, one + 1))
        parts = attribution.difference(evaluator, *sides)
        discs = [part.discs for part in parts]
        assert discs == sorted(discs, reverse=True)
        differences.append(scores[one] - scores[one + 1])
        assert abs(sum(discs) - differences[-1]) < 0.01
    assert max(map(abs, differences)) > 1
    with pytest.raises(ValueError, match="different numbers of discs"):
        attribution.difference(evaluator, (player[0], opponent[0]), (player[-1], opponent[-1]))


def test_a_table_counts_where_its_images_are():
    game = othello.Othello(8)
    params = jax.device_get(trained(game, LAYERS).variables["params"])
    evaluator = pattern_evaluator.PatternEvaluator(game, LAYERS, params)
    d5 = np.uint64(1 << 35)
    for pattern, kind in ((0, "edge"), (2, "corner"), (5, "line")):
        first = evaluator.weights.first_row[evaluator.images.pattern == pattern][0]
        last = first + 3 ** evaluator.images.lengths[evaluator.images.pattern == pattern][0]
        table = np.zeros_like(evaluator.weights.table)
        table[first:last] = evaluator.weights.table[first:last]
        one = pattern_evaluator.PatternEvaluator(game, LAYERS, params)
        one.weights = evaluator.weights._replace(table=table)
        sides = [(np.uint64(0xFF | 1 << 63), d5), (np.uint64(0xFF | 1 << 36), d5)]  # h8, or e5
        parts = attribution.difference(one, *sides)
        found = {(part.kind, part.squares) for part in parts if part.squares and part.discs}
        squares = {"edge": {(7, 63), (56, 63)}, "corner": {(63,)}, "line": {(4, 60), (32, 39)}}
        assert found == {(kind, place) for place in squares[kind]}
