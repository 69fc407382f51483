"""Explored positions, against a plain walk over the same trees."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.builders import random_games
from support.fakes import fake_evaluation

from azo.games import othello, tictactoe
from azo.search import explored, improvement, search_tree

_BATCH = 12


_explored = jax.jit(explored.most_visited, static_argnums=(0, 3))


def _walk(tree, row, node, played):
    """Yields the nodes below one, without those behind the move played from the root."""
    for slot, child in enumerate(tree.child[row, node]):
        if child != search_tree.UNVISITED and not (
            node == 0 and tree.moves.action[row, 0, slot] == played
        ):
            yield child
            yield from _walk(tree, row, child, played)


def _plain(tree, action):
    """Returns trees and nodes, best first."""
    output = [
        (-tree.visits[row, node], row, node)
        for row in range(len(action))
        for node in _walk(tree, row, 0, action[row])
        if tree.visits[row, node] >= 2 and (tree.child[row, node] != search_tree.UNVISITED).any()
    ]
    return [(row, node) for _, row, node in sorted(output)]


def _assert_is_node(tree, packed, got, index, row, node):
    assert got.is_valid[index]
    np.testing.assert_array_equal(got.board[index], packed[row, node])
    assert got.visits[index] == tree.visits[row, node]
    mean = tree.value_sum[row, node] / tree.visits[row, node]
    np.testing.assert_allclose(got.value[index], mean, rtol=1e-6)
    shares = np.zeros(got.policy.shape[1])
    for slot, child in enumerate(tree.child[row, node]):
        if child != search_tree.UNVISITED:
            shares[tree.moves.action[row, node, slot]] = tree.visits[row, child]
    np.testing.assert_allclose(got.policy[index], shares / shares.sum(), atol=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("game", "algorithm", "num_leaves"),
    [
        (tictactoe.TicTacToe(), "puct", 1),
        pytest.param(othello.Othello(4), "gumbel", 4, marks=pytest.mark.slow),
    ],
    ids=["tictactoe", "othello4"],
)
def test_explored_positions_are_those_of_a_plain_walk(game, algorithm, num_leaves):
    games = random_games.play(game, _BATCH, seed=2)
    ply = games.is_over.argmax(axis=0) * np.arange(_BATCH) // _BATCH
    position = jax.tree.map(lambda x: jnp.asarray(x[ply, np.arange(_BATCH)]), games.position)
    config = improvement.SearchConfig(
        has_proofs=False,
        algorithm=algorithm,
        num_simulations=48,
        leaves_per_step=num_leaves,
        puct={"c_puct": 1.0},
    )
    output = fake_evaluation.search(game, position, config, is_greedy=False)
    tree, action, packed = output.tree, output.action, game.pack(output.tree.position)
    host = jax.device_get(tree)
    expected = _plain(host, np.asarray(action))
    assert _BATCH < len(expected) < 300
    for num_positions in (_BATCH, 300):
        got = jax.device_get(_explored(game, tree, action, num_positions))
        for index, (row, node) in enumerate(expected[:num_positions]):
            _assert_is_node(host, np.asarray(packed), got, index, row, node)
        # Rows without a position are marked invalid, and finite.
        assert not got.is_valid[len(expected) :].any()
        assert (got.visits[len(expected) :] == 0).all()
        assert np.isfinite(got.policy).all()
        assert np.isfinite(got.value).all()
    # Some trees give several positions, others none.
    rows = [row for row, _ in expected[:_BATCH]]
    assert len(set(rows)) < _BATCH
