"""Trees against a plain Python search, node by node, with one and with several leaves a step."""

import functools

import jax
import numpy as np
import pytest
from support import fake_evaluation, mctx_trees, slow_puct, slow_tictactoe

from azo.games import tictactoe
from azo.search import improvement

_TIC_TAC_TOE = tictactoe.TicTacToe()
# Sums of up to 101 values in float32 against double precision: relative error below 101 * 6e-8.
_ROUNDING = 1e-5
# A choice between scores nearer than this may go either way for the same reason.
_TIE = 1e-5
_NUM_BOARDS = 64


@functools.partial(jax.jit, static_argnames="config")
def _search(position, config):
    evaluate = fake_evaluation.hashed(_TIC_TAC_TOE)
    key = jax.random.key(0)
    output = improvement.search(
        _TIC_TAC_TOE, evaluate, key, position, config=config, is_greedy=True
    )
    return output, mctx_trees.to_mctx(output.tree, _TIC_TAC_TOE.num_actions)


def _assert_same_trees(tree, row, index, node):
    where = f"{node.board}, node {index}"
    assert tree.node_visits[row, index] == node.visits, where
    np.testing.assert_allclose(
        tree.node_values[row, index], node.value, atol=_ROUNDING, err_msg=where
    )
    child = tree.children_index[row, index]
    assert set(np.flatnonzero(child >= 0)) == set(node.children), where
    for action, behind in node.children.items():
        _assert_same_trees(tree, row, child[action], behind)


def _assert_searched_as_plainly(algorithm, num_simulations, num_leaves=1, virtual_loss=1.0, **rule):
    """Returns the plain searches, of which nearly all have no choice too close to compare."""
    config = improvement.SearchConfig(
        algorithm=algorithm,
        has_proofs=False,
        num_simulations=num_simulations,
        leaves_per_step=num_leaves,
        virtual_loss=virtual_loss,
        **rule,
    )
    boards = slow_puct.boards_to_search(_NUM_BOARDS)
    output, tree = jax.device_get(_search(slow_tictactoe.position(boards), config))
    compared = []
    for row, board in enumerate(boards):
        plain = slow_puct.Search(
            slow_puct.hashed_evaluations(),
            algorithm,
            num_leaves=num_leaves,
            virtual_loss=virtual_loss,
            **rule,
        )
        root = plain.run(board, num_simulations)
        if plain.smallest_gap < _TIE:
            continue
        compared.append(plain)
        assert root.visits == num_simulations + 1
        _assert_same_trees(tree, row, 0, root)
        shares = np.zeros(9)
        for action, child in root.children.items():
            shares[action] = child.visits / num_simulations
        np.testing.assert_allclose(output.policy[row], shares, atol=1e-6)
        np.testing.assert_allclose(output.value[row], root.value, atol=_ROUNDING)
        assert output.action[row] == shares.argmax(), board
    assert len(compared) >= 0.9 * _NUM_BOARDS
    return compared


@pytest.mark.parametrize(
    ("num_simulations", "c_puct", "unvisited_value"),
    [
        pytest.param(30, 0.5, "loss", marks=pytest.mark.slow),
        (50, 3.0, "draw"),
        pytest.param(100, 2.0, "parent", marks=pytest.mark.slow),
    ],
)
def test_puct_builds_the_trees_of_a_plain_python_search(num_simulations, c_puct, unvisited_value):
    _assert_searched_as_plainly(
        "puct", num_simulations, c_puct=c_puct, unvisited_value=unvisited_value
    )


def test_puct_over_visits_builds_the_trees_of_a_plain_python_search():
    _assert_searched_as_plainly("puct_over_visits", 60, c_puct=0.5)


@pytest.mark.parametrize(
    ("algorithm", "num_leaves", "virtual_loss"),
    [("puct", 4, 1.0), ("puct", 8, 2.5), ("puct_over_visits", 4, 1.0)],
)
def test_several_leaves_a_step_build_the_trees_of_a_plain_python_search(
    algorithm, num_leaves, virtual_loss
):
    # On boards with one empty square all paths are equal, and meet.
    searches = _assert_searched_as_plainly(algorithm, 40, num_leaves, virtual_loss)
    assert sum(search.num_collisions for search in searches) > 100


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["puct", "gumbel"])
def test_every_simulation_is_counted_once_for_any_number_of_leaves_a_step(algorithm):
    config = improvement.SearchConfig(algorithm=algorithm, num_simulations=24, leaves_per_step=4)
    boards = slow_puct.boards_to_search(_NUM_BOARDS)
    output, tree = jax.device_get(_search(slow_tictactoe.position(boards), config))
    np.testing.assert_array_equal(output.tree.visits[:, 0], 25)
    # Every visit to a node but the first ends in a child or, where paths met, at the node.
    is_over = output.tree.is_over
    passed_on = np.where(is_over, 0, tree.node_visits - tree.children_visits.sum(axis=-1))
    assert (passed_on[tree.node_visits > 0] >= np.where(is_over, 0, 1)[tree.node_visits > 0]).all()
    np.testing.assert_array_equal(passed_on[:, 0], 1)
    ends = np.where(is_over, tree.node_visits, passed_on).sum(axis=-1)
    np.testing.assert_array_equal(ends, 25)
    # A new node has a parent if and only if it was visited.
    np.testing.assert_array_equal(tree.parents[:, 1:] >= 0, tree.node_visits[:, 1:] > 0)
