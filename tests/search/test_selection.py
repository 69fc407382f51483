"""Policy-target pruning; the formulas themselves are compared in `test_simulation`."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import mctx
import numpy as np
import pytest
from support import fake_evaluation, mctx_trees, slow_puct, slow_tictactoe

from azo.games import tictactoe
from azo.search import improvement, selection

_TIC_TAC_TOE = tictactoe.TicTacToe()


def _root(visits, q, prior):
    """Returns one searched root as the rules see it."""
    visits, q, prior = (jnp.array([[x]]) for x in (visits, q, prior))
    fields = {field.name: None for field in dataclasses.fields(mctx.Tree)}
    return mctx.Tree(
        **fields
        | {
            "node_visits": 1 + visits.sum(axis=-1),
            "children_visits": visits,
            "children_values": -q,
            "children_prior_logits": jnp.log(prior),
        }
    )


def test_pruning_leaves_the_fewest_visits_that_do_not_beat_the_best_move():
    # N = 25 and c_puct = 1. The best move scores 0.5 + 0.5 * 5 / 18 = 0.6389 (n = 17). A second of
    # Q = 0.4 and P = 0.3 would need 1.5 / 0.2389 - 1 = 5.28 and keeps the 4 it has. One of
    # Q = -0.4 and P = 0.2 needs 1 / 1.0389 - 1 < 0, so none of its 3 visits.
    root = _root([17, 4, 3, 0], [0.5, 0.4, -0.4, 0.0], [0.5, 0.3, 0.2, 1e-9])
    prior = jnp.array([[0.5, 0.3, 0.2, 0.0]])
    left = selection.pruned_visits(root, prior, c_puct=1.0, visit_offset=1)
    np.testing.assert_array_equal(left, [[17, 4, 0, 0]])
    # A lower prior: 0.5 / 0.2389 - 1 = 1.09, so 2. Lower still: 0.25 / 0.2389 - 1, so 1, so none.
    for share, expected in ((0.1, 2), (0.05, 0)):
        prior = jnp.array([[0.5, share, 0.2, 0.0]])
        left = selection.pruned_visits(root, prior, c_puct=1.0, visit_offset=1)
        np.testing.assert_array_equal(left, [[17, expected, 0, 0]])


@functools.partial(jax.jit, static_argnames="config")
def _search(position, config):
    evaluate = fake_evaluation.hashed(_TIC_TAC_TOE)
    key = jax.random.key(0)
    output = improvement.search(_TIC_TAC_TOE, evaluate, key, position, config=config)
    return output, mctx_trees.to_mctx(output.tree, _TIC_TAC_TOE.num_actions)


@pytest.mark.parametrize("algorithm", ["puct", "puct_over_visits"])
def test_pruned_policies_are_those_of_taking_visits_away_one_by_one(algorithm):
    # Noise causes visits that the network's own prior does not.
    config = improvement.SearchConfig(
        algorithm=algorithm,
        num_simulations=60,
        c_puct=1.0,
        root_noise_fraction=0.7,
        temperature_plies=0,
        policy_pruning=True,
    )
    boards = slow_puct.boards_to_search(64)
    output, tree = jax.device_get(_search(slow_tictactoe.position(boards), config))
    num_pruned = 0
    for row, board in enumerate(boards):
        visits = tree.children_visits[row, 0]
        root = slow_puct.Node(board, visits=61)
        for action in np.flatnonzero(visits):
            count, value = int(visits[action]), float(tree.children_values[row, 0, action])
            root.children[int(action)] = slow_puct.Node("", count, count * value)
        prior = slow_puct.hashed_evaluations()[board].prior
        left = slow_puct.pruned_visits(root, prior, 1.0, int(algorithm == "puct"))
        weights = np.zeros(9)
        for action, count in left.items():
            weights[action] = count
        np.testing.assert_allclose(output.policy[row], weights / weights.sum(), atol=1e-6)
        assert output.action[row] == visits.argmax()
        num_pruned += 60 - weights.sum()
    assert num_pruned > 0.1 * 60 * 64
