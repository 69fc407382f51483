"""What the search maximises: results mixed with final scores."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.builders import flat_games, random_games
from support.fakes import fake_evaluation

from azo.games import othello, tictactoe
from azo.search import improvement, search_tree

FOUR = othello.Othello(4)
SHARE = 0.25


def test_a_value_is_the_result_and_a_share_of_the_score():
    value = search_tree.value_of_score(FOUR, jnp.array([16, 4, 0, -2]), SHARE)
    np.testing.assert_allclose(value, [1.0, 0.75 + 0.0625, 0.0, -0.75 - 0.03125])
    np.testing.assert_array_equal(
        search_tree.value_of_score(tictactoe.TicTacToe(), jnp.array([-1]), 0.9), -1
    )


@pytest.mark.thorough
@pytest.mark.parametrize(("algorithm", "has_proofs"), [("puct", False), ("gumbel", True)])
def test_finished_games_are_worth_their_score_and_no_value_leaves_its_bounds(algorithm, has_proofs):
    config = improvement.SearchConfig(
        algorithm=algorithm, num_simulations=24, score_share=SHARE, has_proofs=has_proofs
    )
    tree = fake_evaluation.search(FOUR, random_games.late(FOUR, 6), config).tree
    used = np.asarray(tree.visits > 0)
    is_over = used & np.asarray(FOUR.is_over(tree.position))
    assert has_proofs or is_over.sum() > 20  # bounds end paths before the end of the game
    expected = search_tree.value_of_score(FOUR, FOUR.final_score(tree.position), SHARE)
    np.testing.assert_allclose(tree.raw_value[is_over], expected[is_over], rtol=1e-6)
    value, lower, upper = (
        np.asarray(x) for x in (tree.value(), tree.bounds.lower, tree.bounds.upper)
    )
    assert (value[used & (lower == 1)] >= 1 - SHARE).all()
    assert (value[used & (upper == -1)] <= SHARE - 1).all()
    assert (value[used & (lower == 0) & (upper == 0)] == 0).all()


def test_an_evaluator_without_scores_is_refused_where_scores_count():
    config = improvement.SearchConfig(num_simulations=4, score_share=SHARE)
    with pytest.raises(AssertionError, match="gives no scores"):
        improvement.search(FOUR, flat_games.flat, jax.random.key(0), FOUR.start(2), config=config)
