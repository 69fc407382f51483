"""The host's evaluation of pattern networks is that of the device."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import random_games

from azo.games import othello
from azo.lab import players
from azo.learning import network, network_config
from azo.play.engine import (
    engine_settings,
    live_search,
    network_evaluator,
    pattern_evaluator,
)
from azo.search import improvement

LAYERS = network_config.PatternsConfig(num_features=5, hidden_units=(7, 6))
COUNTS = LAYERS.model_copy(update={"has_move_counts": True})
SMALL = LAYERS.model_copy(update={"set": "small", "hidden_units": (4,)})


def trained(game, shape):
    """A network of random weights, all of them different from 0."""
    settings = network.NetworkConfig(kind="patterns", patterns=shape)
    variables = network.init(game, settings, jax.random.key(0))
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
    on_device = network_evaluator.NetworkEvaluator(game, network_player)
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
