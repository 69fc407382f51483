"""The tree of a live game, against the batched search and by its own sums."""

import random

import jax
import numba
import numpy as np
import pytest
from support.fakes import fake_evaluation, hash_evaluator

from azo.engine import live_search, live_simulation, live_tree
from azo.engine.engine_settings import EngineConfig, Limits
from azo.games import bitboard, othello
from azo.games.host import live_game
from azo.search import improvement

PLAIN = EngineConfig(
    leaves_per_step=1,
    exact_empties=0,
    has_proofs=False,
    prior_temperature=1.0,
    c_puct=2.0,
)


def midgame(size, plies):
    """Returns a game after so many random plies."""
    rng = random.Random(0)
    game = live_game.LiveGame(othello.Othello(size))
    while len(game.actions) < plies:
        game.play(rng.choice(game.legal_actions))
    return game


def plain_search(game, config):
    evaluator = hash_evaluator.HashEvaluator(game.game)
    search = live_search.LiveSearch(evaluator, config)
    search.restart(game.board)
    return search


def searched(game, config, num_simulations):
    search = plain_search(game, config)
    assert search.grow(Limits(num_simulations)) == num_simulations
    return search


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("size", "plies", "score_share"),
    [
        pytest.param(8, 20, 0.0, marks=pytest.mark.slow),
        pytest.param(6, 24, 0.25, marks=pytest.mark.slow),
        (4, 5, 0.25),
    ],
)
def test_with_one_leaf_a_step_it_is_the_search_of_the_device(size, plies, score_share):
    game = midgame(size, plies)
    changes = {"prior_temperature": 1.5, "score_share": score_share}
    ours = searched(game, PLAIN.model_copy(update=changes), 150)
    settings = improvement.SearchConfig(
        algorithm="puct", num_simulations=150, has_proofs=False, **changes
    )
    sides = [game.board.player], [game.board.opponent]
    theirs = improvement.search(
        game.game,
        fake_evaluation.hashed(game.game),
        jax.random.key(0),
        othello.Position(*map(bitboard.from_ints, sides)),
        config=settings,
        is_greedy=True,
    )
    visits, prior = np.zeros((2, game.game.num_actions))
    for move in ours.look():
        visits[move.action], prior[move.action] = move.visits, move.prior
    np.testing.assert_allclose(theirs.policy[0], visits / 150, atol=1e-6)
    root, tempered = ours._tree.nodes[0], prior ** (1 / 1.5)
    np.testing.assert_allclose(theirs.value[0], root["value_sum"] / root["visits"], atol=1e-5)
    np.testing.assert_allclose(theirs.prior[0], tempered / tempered.sum(), atol=1e-6)


@pytest.mark.parametrize(
    ("leaves_per_step", "num_simulations"), [(3, 500), (8, 500), (16, 500), (32, 5000)]
)
def test_visits_and_values_add_up_with_several_leaves_a_step(leaves_per_step, num_simulations):
    """The tree grows beyond its first arrays."""
    changes = {"leaves_per_step": leaves_per_step, "exact_empties": 6}
    search = searched(midgame(8, 30), PLAIN.model_copy(update=changes), num_simulations)
    nodes = search._tree.nodes[: search._tree.counts[live_tree.NODES]]
    assert nodes["visits"][0] == num_simulations + 1
    assert num_simulations < 5000 or len(nodes) > 4000
    assert not nodes["virtual"].any()
    assert not (nodes["state"] == live_tree.WAITING).any()
    for node in np.flatnonzero(nodes["state"] == live_tree.OPEN):
        children = search._edges(node)["child"]
        below, row = nodes[children[children >= 0]], nodes[node]
        assert row["visits"] == 1 + below["visits"].sum()
        assert abs(row["value_sum"] + below["value_sum"].sum() - row["raw_value"]) < 1e-9


def test_the_tree_moves_on_with_the_game():
    game = midgame(8, 20)
    search = searched(game, PLAIN, 400)
    best = search.look()[0]
    game.play(best.action)
    search.follow(game)
    assert search.report().value == pytest.approx(-best.value)
    fresh = plain_search(game, PLAIN)
    fresh.grow(Limits(best.visits - 1))
    # All that led there saw only this subtree, so it is the tree of a search of its own.
    assert fresh.look() == search.look()


def test_a_move_that_was_not_searched_starts_an_empty_tree():
    game = midgame(8, 20)
    search = searched(game, PLAIN, 1)
    action = next(move.action for move in search.look() if move.visits == 0)
    game.play(action)
    search.follow(game)
    assert search.look() == ()
    search.grow(Limits(10))
    assert sorted(move.action for move in search.look()) == list(game.legal_actions)


def test_an_exception_leaves_no_pending_leaf():
    """Its answer would be taken for a leaf of the next tree, or waited for without end."""
    game = midgame(8, 20)
    evaluator = hash_evaluator.HashEvaluator(game.game, num_streams=2)
    config = PLAIN.model_copy(update={"leaves_per_step": 16})
    search = live_search.LiveSearch(evaluator, config)
    search.restart(game.board)

    def fail(num_done):
        if len(evaluator.batches) > 20:
            raise RuntimeError("nobody listens")

    with pytest.raises(RuntimeError, match="nobody listens"):
        search.grow(Limits(5000), on_progress=fail, progress_seconds=0)
    assert not search._tree.nodes["virtual"].any()
    num_before = sum(evaluator.batches)
    assert search.num_evaluations == num_before
    search.restart(game.board)
    assert search.grow(Limits(40)) == 40
    assert sum(move.visits for move in search.look()) == 40


def test_counts_of_visits_do_not_overflow(monkeypatch):
    """Near the end most simulations need no network, and there may be thousands of millions."""
    monkeypatch.setattr(live_search, "MAX_VISITS", 1000)
    search = plain_search(midgame(6, 26), PLAIN)
    search.grow(Limits(seconds=60.0))
    assert 1000 <= search._tree.nodes["visits"][0] < 1000 + live_search._MAX_PER_BATCH
    assert search.grow(Limits()) == 0


@pytest.mark.parametrize("temperature", [0.05, 1000.0])
def test_reported_priors_are_the_networks_at_any_temperature(temperature):
    game = midgame(8, 20)
    plain = {move.action: move.prior for move in searched(game, PLAIN, 1).look()}
    config = PLAIN.model_copy(update={"prior_temperature": temperature})
    for move in searched(game, config, 1).look():
        assert move.prior == pytest.approx(plain[move.action], rel=0.01)


def test_what_moves_need_is_compiled_before_the_first(monkeypatch):
    seen = set()

    def watch(module, name):
        compiled = getattr(module, name)

        def watched(*arguments):
            seen.add((name, *map(numba.typeof, arguments)))
            return compiled(*arguments)

        monkeypatch.setattr(module, name, watched)

    for name in ("gather", "expand", "expand_root"):
        watch(live_simulation, name)
    watch(live_tree, "_copy")
    game = midgame(8, 20)
    config = PLAIN.model_copy(update={"has_proofs": True})
    search = plain_search(game, config)
    assert (search.num_evaluations, len(search.look())) == (0, 0)
    before = set(seen)
    assert len(before) == 4
    search.grow(Limits(20))
    action = search.look()[0].action
    game.play(action)
    search.follow(game)
    search.grow(Limits(20))
    assert seen == before


@pytest.mark.parametrize(
    ("visits", "num_left", "is_settled"),
    [([30, 9], 20, True), ([30, 9], 21, False), ([0, 30, 0], 29, True), ([30], 30, False)],
)
def test_a_move_is_settled_when_no_other_can_catch_it(visits, num_left, is_settled):
    assert live_search.is_settled(np.array(visits), num_left) == is_settled
