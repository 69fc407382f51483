"""Trees against a plain Python search and against mctx, node by node."""

import functools
import types

import fake_evaluation
import jax
import jax.numpy as jnp
import mctx
import numpy as np
import pytest
import random_games
import slow_puct
import slow_tictactoe

from azo.games import othello, tictactoe
from azo.search import policy
from azo.search import tree as trees

_TIC_TAC_TOE = tictactoe.TicTacToe()
_OTHELLO = othello.Othello(6)
_KEY = jax.random.key(0)
# Sums of up to 101 values in float32 against double precision: relative error below 101 * 6e-8.
_ROUNDING = 1e-5
# A choice between scores nearer than this may go either way for the same reason.
_TIE = 1e-5


@functools.partial(jax.jit, static_argnames=("game", "config", "is_greedy"))
def _search(game, position, config, is_greedy=True):
    evaluate = fake_evaluation.hashed(game)
    return policy.search(game, evaluate, _KEY, position, config=config, is_greedy=is_greedy)


def _boards_where_the_game_goes_on(count):
    boards = [b for b in slow_tictactoe.boards() if slow_tictactoe.result(b) is None]
    order = np.random.default_rng(3).permutation(len(boards))
    return ["-" * 9] + [boards[i] for i in order[: count - 1]]


@functools.cache
def _evaluations():
    """Returns what the hash says of every board, for the plain search."""
    boards = slow_tictactoe.boards()
    evaluation = fake_evaluation.hashed(_TIC_TAC_TOE)(_KEY, slow_tictactoe.position(boards))
    logits, value = np.asarray(evaluation.prior_logits, float), np.asarray(evaluation.value, float)
    evaluations = {}
    for row, board in enumerate(boards):
        legal = slow_tictactoe.legal_actions(board)
        odds = np.exp(logits[row, legal])
        prior = dict(zip(legal, odds / odds.sum(), strict=True))
        evaluations[board] = slow_puct.Evaluation(prior, value[row])
    return evaluations


def _assert_same_trees(tree, row, index, node):
    where = f"{node.board}, node {index}"
    assert tree.visits[row, index] == node.visits, where
    np.testing.assert_allclose(
        tree.value_sum[row, index] / node.visits, node.value, atol=_ROUNDING, err_msg=where
    )
    child = tree.child[row, index]
    assert set(np.flatnonzero(child >= 0)) == set(node.children), where
    for action, behind in node.children.items():
        _assert_same_trees(tree, row, child[action], behind)


@pytest.mark.parametrize(
    ("num_simulations", "c_puct", "unvisited_value"),
    [(30, 0.5, "loss"), (50, 3.0, "draw"), (100, 2.0, "parent")],
)
def test_puct_builds_the_trees_of_a_plain_python_search(num_simulations, c_puct, unvisited_value):
    config = policy.SearchConfig(
        algorithm="puct",
        num_simulations=num_simulations,
        c_puct=c_puct,
        unvisited_value=unvisited_value,
    )
    boards = _boards_where_the_game_goes_on(64)
    found = jax.device_get(_search(_TIC_TAC_TOE, slow_tictactoe.position(boards), config))
    num_compared = 0
    for row, board in enumerate(boards):
        plain = slow_puct.Search(_evaluations(), c_puct, unvisited_value)
        root = plain.run(board, num_simulations)
        if plain.smallest_gap < _TIE:
            continue
        num_compared += 1
        _assert_same_trees(found.tree, row, 0, root)
        shares = np.zeros(9)
        for action, child in root.children.items():
            shares[action] = child.visits / num_simulations
        np.testing.assert_allclose(found.policy[row], shares, atol=1e-6)
        np.testing.assert_allclose(found.value[row], root.value, atol=_ROUNDING)
        assert found.action[row] == shares.argmax(), board
    assert num_compared >= 60


def _recurrent(game, key, action, position):
    """Plays and evaluates a move as mctx wants it."""
    step = game.step(position, action)
    evaluation = fake_evaluation.hashed(game)(key, step.position)
    logits = trees.mask_illegal(evaluation.prior_logits, game.legal_mask(step.position))
    output = mctx.RecurrentFnOutput(
        reward=step.reward, discount=step.discount, prior_logits=logits, value=evaluation.value
    )
    return output, step.position


def _mctx_root(game, position):
    evaluation = fake_evaluation.hashed(game)(_KEY, position)
    logits = trees.mask_illegal(evaluation.prior_logits, game.legal_mask(position))
    return mctx.RootFnOutput(prior_logits=logits, value=evaluation.value, embedding=position)


def _some_positions(game):
    """Returns 32 positions of random games, where the game goes on."""
    games = random_games.play(game, 32, seed=5)
    last = games.is_over.argmax(axis=0)
    ply = np.arange(32) % last  # all stages, the last moves too
    return jax.tree.map(lambda x: jnp.asarray(x[ply, np.arange(32)]), games.position)


def _assert_same_as_mctx(tree, other):
    """Compares nodes by number: both number them by the simulation that made them."""
    is_used = tree.visits > 0  # mctx goes on below finished games
    goes_on = is_used & ~tree.is_over
    np.testing.assert_array_equal(tree.visits[is_used], other.node_visits[is_used])
    np.testing.assert_array_equal(tree.child[goes_on], other.children_index[goes_on])
    value = tree.value_sum / np.maximum(tree.visits, 1)
    np.testing.assert_allclose(value[goes_on], other.node_values[goes_on], atol=_ROUNDING)


@pytest.mark.parametrize("game", [_TIC_TAC_TOE, _OTHELLO], ids=lambda game: game.name)
def test_gumbel_trees_moves_and_policies_are_those_of_mctx(game, monkeypatch):
    # Both draw their noise at once by this name; half of the rows have none.
    noise = jax.random.gumbel(jax.random.key(1), (32, game.num_actions))
    noise = noise * (jnp.arange(32) % 2)[:, None]
    monkeypatch.setattr(jax.random, "gumbel", lambda *args, **kwargs: noise)
    config = policy.SearchConfig(num_simulations=24, max_considered_actions=5, temperature=0.7)
    position = _some_positions(game)

    @jax.jit
    def by_mctx(position):
        return mctx.gumbel_muzero_policy(
            params=None,
            rng_key=_KEY,
            root=_mctx_root(game, position),
            recurrent_fn=lambda _, *args: _recurrent(game, *args),
            num_simulations=config.num_simulations,
            invalid_actions=~game.legal_mask(position),
            qtransform=functools.partial(
                mctx.qtransform_completed_by_mix_value,
                value_scale=config.value_scale,
                rescale_values=False,
            ),
            max_num_considered_actions=config.max_considered_actions,
            gumbel_scale=config.temperature,
        )

    expected = jax.device_get(by_mctx(position))
    found = jax.device_get(_search(game, position, config, is_greedy=False))
    assert found.tree.visits.max() > 5
    assert found.tree.is_over[found.tree.visits > 1].any()
    _assert_same_as_mctx(found.tree, expected.search_tree)
    np.testing.assert_array_equal(found.action, expected.action)
    # Scores of about 5 go into a softmax: what is _ROUNDING in a value is 7.4 times that there.
    np.testing.assert_allclose(found.policy, expected.action_weights, atol=1e-4)


def test_puct_trees_are_those_of_mctx_with_the_same_rule():
    game = _OTHELLO
    config = policy.SearchConfig(algorithm="puct", num_simulations=24, c_puct=1.5)
    position = _some_positions(game)

    def select(key, tree, node, depth=None):
        del key, depth
        seen = types.SimpleNamespace(
            node_visits=tree.node_visits[node],
            node_values=tree.node_values[node],
            children_visits=tree.children_visits[node],
            children_values=-tree.qvalues(node),
            children_prior_logits=tree.children_prior_logits[node],
        )
        batch = types.SimpleNamespace(**{k: x[None, None] for k, x in vars(seen).items()})
        return policy.puct_action(
            batch, c_puct=config.c_puct, unvisited_value=config.unvisited_value
        )[0]

    @jax.jit
    def by_mctx(position):
        return mctx.search(
            params=None,
            rng_key=_KEY,
            root=_mctx_root(game, position),
            recurrent_fn=lambda _, *args: _recurrent(game, *args),
            root_action_selection_fn=select,
            interior_action_selection_fn=select,
            num_simulations=config.num_simulations,
            invalid_actions=~game.legal_mask(position),
        )

    expected = jax.device_get(by_mctx(position))
    found = jax.device_get(_search(game, position, config))
    assert found.tree.is_over[found.tree.visits > 1].any()
    _assert_same_as_mctx(found.tree, expected)


def test_the_view_of_a_node_holds_its_visits_values_and_children():
    config = policy.SearchConfig(
        algorithm="puct", num_simulations=30, c_puct=0.5, unvisited_value="loss"
    )
    position = slow_tictactoe.position(_boards_where_the_game_goes_on(64))
    tree = jax.device_get(_search(_TIC_TAC_TOE, position, config)).tree
    node = np.where(tree.is_over[:, 1], 0, 1)
    seen = jax.jit(trees.view)(jax.tree.map(jnp.asarray, tree), jnp.asarray(node))
    for row in range(64):
        assert seen.node_visits[row, 0] == tree.visits[row, node[row]]
        visits, values = np.zeros(9, int), np.zeros(9)
        for action, child in enumerate(tree.child[row, node[row]]):
            if child != trees.UNVISITED:
                visits[action] = tree.visits[row, child]
                values[action] = tree.value_sum[row, child] / tree.visits[row, child]
        np.testing.assert_array_equal(seen.children_visits[row, 0], visits)
        np.testing.assert_allclose(seen.children_values[row, 0], values, atol=_ROUNDING)
        assert seen.node_visits[row, 0] == 1 + visits.sum()


def test_masking_keeps_the_odds_of_legal_moves_and_gives_the_others_nothing():
    logits = jnp.array([[300.0, 2.0, 1.0], [-3e4, 3e4, 0.0], [5.0, 6.0, 7.0]])
    legal = jnp.array([[False, True, True], [True, False, False], [False, False, True]])
    masked = trees.mask_illegal(logits, legal)
    assert np.isfinite(masked).all()
    odds = 1 / (1 + np.exp(-1.0))
    expected = [[0, odds, 1 - odds], [1, 0, 0], [0, 0, 1]]
    np.testing.assert_allclose(jax.nn.softmax(masked), expected, rtol=1e-6)
