"""Bounds of results against exact results, and what the search makes of them."""

import jax
import numpy as np
import pytest
from support.builders import random_games
from support.fakes import fake_evaluation
from support.references import slow_minimax, wipe_outs

from azo.games import bitboard, othello
from azo.search import improvement, proofs

_GUMBEL = improvement.SearchConfig(num_simulations=48)
_PUCT = improvement.SearchConfig(algorithm="puct", num_simulations=48, leaves_per_step=4)
_both_algorithms = pytest.mark.parametrize(
    "config", [_GUMBEL, pytest.param(_PUCT, marks=pytest.mark.slow)], ids=["gumbel", "puct"]
)


@pytest.mark.parametrize(
    ("game", "most_empties", "config"),
    [
        (othello.Othello(4, is_reversed=True), 11, _GUMBEL),
        pytest.param(othello.Othello(8), 8, _PUCT, marks=pytest.mark.slow),
        pytest.param(othello.Othello(4), 12, _PUCT, marks=pytest.mark.slow),
        pytest.param(othello.Othello(6), 8, _GUMBEL, marks=pytest.mark.slow),
    ],
)
def test_every_bound_is_that_of_minimax(game, most_empties, config):
    late = random_games.late(game, most_empties)
    tree = jax.device_get(fake_evaluation.search(game, late, config).tree)
    is_known = (tree.visits > 0) & ((tree.bounds.lower > -1) | (tree.bounds.upper < 1))
    assert is_known.mean() > 0.1
    position, bounds = jax.tree.map(lambda x: x[is_known], (tree.position, tree.bounds))
    boards = random_games.signed_squares(position, game.size)
    scores = slow_minimax.scores(boards, is_reversed=game.is_reversed)
    results = np.sign(scores) * (-1 if game.is_reversed else 1)
    assert (bounds.lower <= results).all()
    assert (bounds.upper >= results).all()
    assert (bounds.lower == bounds.upper).mean() > 0.5


def _positions(boards):
    sides = zip(*((board.player, board.opponent) for board in boards), strict=True)
    return othello.Position(*map(bitboard.from_ints, sides))


def _ends_at_once(game, position, action):
    """Returns whether a move ends the game."""
    return np.asarray(game.step(position, action).discount == 0)


@pytest.mark.thorough
@_both_algorithms
def test_a_wipe_out_in_one_ply_is_played(config):
    game, positions = wipe_outs.GAME, wipe_outs.before_the_end(1)
    assert len(positions) >= 50
    position = _positions(board for board, _ in positions)
    result = fake_evaluation.search(game, position, config)
    best_moves = proofs.look_ahead_at_root(game, result.tree)[1]
    assert _ends_at_once(game, position, result.action).all()
    np.testing.assert_array_equal(result.value, 1)
    # All the weight of the improved policy is on moves that win at once.
    policy = np.where(best_moves, result.tree.moves.action[:, 0], -1)
    for row, actions in enumerate(policy):
        assert float(result.policy[row, actions[actions >= 0]].sum()) == pytest.approx(1)


@_both_algorithms
def test_a_move_that_allows_a_wipe_out_is_not_played(config):
    game, positions = wipe_outs.GAME, wipe_outs.before_the_end(2)
    position = _positions(board for board, _ in positions)
    result = jax.device_get(fake_evaluation.search(game, position, config))
    after = game.step(position, result.action).position
    replies = np.asarray(game.legal_actions(after, 32))
    is_lost = np.zeros(len(positions), bool)
    for column in replies.T:
        is_lost |= (column >= 0) & _ends_at_once(game, after, np.maximum(column, 0))
    root = result.tree.bounds.upper[:, 0]
    assert not (is_lost & (root > -1)).any()
    assert (root > -1).sum() > 40
    blunders = np.array([actions[0] for _, actions in positions])
    rows = np.arange(len(positions))
    assert (result.policy[rows, blunders][root > -1] < 0.05).all()
