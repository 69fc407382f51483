"""Bounds of results against exact results, and what the search makes of them."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import fake_evaluation, random_games, slow_minimax, wipe_outs

from azo.games import othello, replaying
from azo.search import improvement, proofs

_GUMBEL = improvement.SearchConfig(num_simulations=48)
_PUCT = improvement.SearchConfig(algorithm="puct", num_simulations=48, leaves_per_step=4)


@functools.partial(jax.jit, static_argnames=("game", "config"))
def _search(game, position, config):
    evaluate = fake_evaluation.hashed(game)
    key = jax.random.key(0)
    result = improvement.search(game, evaluate, key, position, config=config, is_greedy=True)
    return result, proofs.look_ahead_at_root(game, result.tree)[1]


def _late_positions(game, num_games, most_empties, seed):
    """Returns unfinished positions of random games with at most `most_empties` empty squares."""
    games = random_games.play(game, num_games, seed)
    empties = np.asarray(game.num_empties(games.position))
    is_late = (empties <= most_empties) & ~games.is_over
    # A random one of the late positions of each game.
    weight = np.random.default_rng(seed).random(is_late.shape) * is_late
    ply, column = weight.argmax(axis=0), np.arange(num_games)
    kept = is_late.any(axis=0)
    return jax.tree.map(lambda x: x[ply, column][kept], games.position)


def _bounded_nodes(game, position, config):
    """Returns the positions of nodes about which something is known, and their bounds."""
    result, _ = jax.device_get(_search(game, position, config))
    tree = result.tree
    is_known = (tree.visits > 0) & ((tree.bounds.lower > -1) | (tree.bounds.upper < 1))
    assert is_known.mean() > 0.1
    return jax.tree.map(lambda x: x[is_known], (tree.position, tree.bounds))


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
    position, bounds = _bounded_nodes(game, _late_positions(game, 100, most_empties, 3), config)
    planes = np.asarray(game.planes(position)).astype(np.int8)
    boards = planes[..., 0] - planes[..., 1]
    scores = slow_minimax.scores(boards, is_reversed=game.is_reversed)
    results = np.sign(scores) * (-1 if game.is_reversed else 1)
    assert (bounds.lower <= results).all()
    assert (bounds.upper >= results).all()
    assert (bounds.lower == bounds.upper).mean() > 0.5


def _positions(boards):
    words = [replaying.position_of(board) for board in boards]
    return jax.tree.map(lambda *x: jnp.stack(x), *words)


def _ends_at_once(game, position, action):
    """Returns whether a move ends the game."""
    return np.asarray(game.step(position, action).discount == 0)


@pytest.mark.parametrize(
    "config", [_GUMBEL, pytest.param(_PUCT, marks=pytest.mark.slow)], ids=["gumbel", "puct"]
)
def test_a_wipe_out_in_one_ply_is_played(config):
    game, positions = wipe_outs.GAME, wipe_outs.before_the_end(1)
    assert len(positions) >= 50
    position = _positions(board for board, _ in positions)
    result, best_moves = _search(game, position, config)
    assert _ends_at_once(game, position, result.action).all()
    np.testing.assert_array_equal(result.value, 1)
    # All the weight of the improved policy is on moves that win at once.
    policy = np.where(best_moves, result.tree.moves.action[:, 0], -1)
    for row, actions in enumerate(policy):
        assert float(result.policy[row, actions[actions >= 0]].sum()) == pytest.approx(1)


@pytest.mark.parametrize(
    "config", [_GUMBEL, pytest.param(_PUCT, marks=pytest.mark.slow)], ids=["gumbel", "puct"]
)
def test_a_move_that_allows_a_wipe_out_is_not_played(config):
    game, positions = wipe_outs.GAME, wipe_outs.before_the_end(2)
    position = _positions(board for board, _ in positions)
    result, _ = jax.device_get(_search(game, position, config))
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
