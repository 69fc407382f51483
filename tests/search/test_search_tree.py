"""Trees against those of mctx, node by node, and the fields of single nodes."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.builders import random_games
from support.fakes import fake_evaluation
from support.references import mctx_trees

from azo.games import othello, tictactoe
from azo.search import improvement, search_tree
from benchmarks import baselines

_TIC_TAC_TOE = tictactoe.TicTacToe()
_KEY = jax.random.key(0)
# Sums of up to 101 values in float32 against double precision: relative error below 101 * 6e-8.
_ROUNDING = 1e-5


def _some_positions(game, batch=32):
    """Returns positions of random games, of all stages, where the game goes on."""
    games = random_games.play(game, batch, seed=5)
    last = games.is_over.argmax(axis=0)
    ply = last - 1 - 2 * np.arange(batch) % last  # the last moves first
    return jax.tree.map(lambda x: jnp.asarray(x[ply, np.arange(batch)]), games.position)


def _assert_same_as_mctx(output, other, game):
    """Compares nodes by number: both number them by the simulation that made them."""
    tree = jax.device_get(mctx_trees.to_mctx(output.tree, game.num_actions))
    is_over = output.tree.bounds.is_proven()
    # mctx searches below finished games.
    is_used = tree.node_visits > 0
    goes_on = is_used & ~is_over
    assert is_over[tree.node_visits > 1].any(), "no finished game was visited twice"
    np.testing.assert_array_equal(tree.node_visits[is_used], other.node_visits[is_used])
    np.testing.assert_allclose(
        tree.node_values[goes_on], other.node_values[goes_on], atol=_ROUNDING
    )
    for field in ("children_index", "children_visits", "children_rewards", "children_discounts"):
        np.testing.assert_array_equal(getattr(tree, field)[goes_on], getattr(other, field)[goes_on])
    for field in ("parents", "action_from_parent"):
        np.testing.assert_array_equal(getattr(tree, field)[is_used], getattr(other, field)[is_used])
    ours, theirs = (
        jax.nn.softmax(x.children_prior_logits[goes_on], axis=-1) for x in (tree, other)
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize(
    ("game", "batch"),
    [
        (_TIC_TAC_TOE, 32),
        pytest.param(othello.Othello(6), 32, marks=pytest.mark.slow),
        pytest.param(othello.Othello(8), 7, marks=pytest.mark.slow),
    ],
)
def test_gumbel_trees_moves_and_policies_are_those_of_mctx(game, batch, monkeypatch):
    position = _some_positions(game, batch)
    # Both draw their noise by one call of this function; half of the rows have none.
    noise = jax.random.gumbel(jax.random.key(1), (batch, game.num_actions))
    noise = noise * (jnp.arange(batch) % 2)[:, None]
    monkeypatch.setattr(jax.random, "gumbel", lambda *args, **kwargs: noise)
    config = improvement.SearchConfig(
        num_simulations=24,
        temperature=0.7,
        gumbel={"max_considered_actions": 5, "value_scale": 0.05},
        has_proofs=False,
    )

    evaluate = fake_evaluation.hashed(game)
    by_mctx = functools.partial(
        baselines.mctx_search, game, evaluate, _KEY, config=config, same_trees=True
    )
    expected = jax.device_get(jax.jit(by_mctx)(position))
    num_slots = game.num_slots
    slots = jnp.maximum(game.legal_actions(position, num_slots), 0)
    in_slots = jnp.take_along_axis(noise, slots, axis=1)
    monkeypatch.setattr(jax.random, "gumbel", lambda *args, **kwargs: in_slots)
    # Compiled anew: other tests have other noise.
    searched = functools.partial(fake_evaluation.search.__wrapped__, game, config=config)
    output = jax.device_get(jax.jit(functools.partial(searched, is_greedy=False))(position))
    assert output.tree.visits.max() > 5
    _assert_same_as_mctx(output, expected.search_tree, game)
    np.testing.assert_array_equal(output.action, expected.action)
    # Scores of about 3 enter a softmax, where an error of _ROUNDING in a value is 3.7 times larger.
    np.testing.assert_allclose(output.policy, expected.action_weights, atol=1e-4)


@dataclasses.dataclass(frozen=True)
class _Crowded(fake_evaluation.Bandit):
    """Forty actions, all of which may be legal."""

    num_actions: int = 40
    num_slots: int = 40


@pytest.mark.parametrize("num_slots", [40, 32])
def test_positions_keep_all_moves_or_the_likeliest_if_a_game_has_fewer_slots(num_slots):
    rng = np.random.default_rng(0)
    num_legal = np.array([40, 33, 32, 31, 1])
    legal = np.array([rng.permutation(40) < count for count in num_legal])
    logits = rng.normal(size=(5, 40)).astype(np.float32)
    game = _Crowded(num_slots=num_slots)
    moves = jax.jit(lambda *args: search_tree.compact(game, *args))(
        game.root(jnp.asarray(legal)), jnp.asarray(logits)
    )
    assert moves.action.shape == (5, num_slots)
    for row, count in enumerate(num_legal):
        ranked = sorted(np.flatnonzero(legal[row]), key=lambda a: -logits[row, a])
        kept = sorted(ranked[:num_slots])
        filled = moves.action[row][moves.is_legal()[row]]
        np.testing.assert_array_equal(filled, kept)
        assert not moves.is_legal()[row, min(count, num_slots) :].any()
        odds = np.exp(logits[row, kept])
        prior = np.exp(moves.logits[row])
        np.testing.assert_allclose(prior[: len(kept)], odds / odds.sum(), rtol=1e-5)
        assert (prior[len(kept) :] == 0).all()
