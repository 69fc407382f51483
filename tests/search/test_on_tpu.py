"""What the search does on a TPU, computed on the CPU: its trees are those of other devices."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.builders import random_games

import azo
from azo.search import improvement, search_tree
from benchmarks import search as search_benchmark


@pytest.fixture
def as_on_tpu(monkeypatch):
    """Programs take the branches for TPUs; returns a list that grows with each."""
    choose, used = jax.lax.platform_dependent, []

    def for_tpu(*arguments, tpu=None, **others):
        if tpu is None:
            return choose(*arguments, **others)
        used.append(tpu)
        return tpu(*arguments)

    monkeypatch.setattr(jax.lax, "platform_dependent", for_tpu)
    # Only a TPU's compiler knows these layouts.
    monkeypatch.setattr(search_tree, "with_games_last", lambda x: x)
    return used


def tree_of(game, position, **settings):
    evaluate = functools.partial(search_benchmark.hashed_evaluation, game)
    config = improvement.SearchConfig(**settings)
    search = functools.partial(improvement.search, game, evaluate, config=config)
    result = jax.jit(search)(jax.random.key(3), position)
    return jax.device_get((result.action, result.policy, result.tree))


@pytest.mark.thorough
@pytest.mark.parametrize("leaves_per_step", [1, 2])
@pytest.mark.parametrize("algorithm", ["gumbel", "puct"])
def test_trees_are_those_of_other_devices_bit_for_bit(algorithm, leaves_per_step, request):
    game = azo.Othello(4)
    parts = [random_games.positions(game, plies, 4) for plies in (1, 6, 9)]
    position = jax.tree.map(lambda *x: jnp.concatenate(x), *parts)
    settings = {"algorithm": algorithm, "leaves_per_step": leaves_per_step}
    settings |= {"num_simulations": 20}
    expected = tree_of(game, position, **settings)
    used = request.getfixturevalue("as_on_tpu")
    found = tree_of(game, position, **settings)
    assert used
    jax.tree.map(np.testing.assert_array_equal, found, expected)
    tree = expected[-1]
    has_children = (tree.child >= 0).any(axis=-1)
    assert (tree.bounds.is_proven() & has_children).any()  # bounds pass up


@pytest.mark.parametrize("num_nodes", [1, 2, 3, 7, 8, 33])
@pytest.mark.parametrize("shape", [(), (5,)])
@pytest.mark.parametrize("num_leaves", [0, 3])
def test_entries_at_nodes_are_those_of_a_gather(num_nodes, shape, num_leaves):
    rng = np.random.default_rng(num_nodes)
    x = jnp.asarray(rng.integers(-9, 9, (4, num_nodes, *shape)), jnp.int16)
    node = jnp.asarray(rng.integers(0, num_nodes, (4, num_leaves) if num_leaves else 4))
    lazy = search_tree.GamesLast.of(x)
    assert lazy.shape == x.shape
    np.testing.assert_array_equal(lazy.at(node), search_tree.at_node(x, node))
