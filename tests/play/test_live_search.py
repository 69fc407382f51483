"""The tree of a live game, against the batched search and by its own sums."""

import random

import jax
import numba
import numpy as np
import pytest
from support import fake_evaluation, hash_evaluator, slow_minimax

from azo.games import bitboard, othello
from azo.games.host import host_rules, live_game
from azo.play.engine import live_search, live_simulation, live_tree
from azo.play.engine.engine_settings import EngineConfig, Limits
from azo.search import improvement

PLAIN = EngineConfig(
    leaves_per_step=1,
    exact_empties=0,
    has_proofs=False,
    prior_temperature=1.0,
    c_puct=2.0,
)


def midgame(size, plies, seed=0, *, is_reversed=False):
    """Returns a game after so many random plies."""
    rng = random.Random(seed)
    game = live_game.LiveGame(othello.Othello(size, is_reversed))
    while len(game.actions) < plies:
        game.play(rng.choice(game.legal_actions))
    return game


def plain_search(game, config):
    """A search without a cache."""
    evaluator = hash_evaluator.HashEvaluator(game.game)
    search = live_search.LiveSearch(evaluator, config, num_cached=0)
    search.restart(game.board)
    return search


def searched(game, config, num_simulations):
    search = plain_search(game, config)
    assert search.grow(Limits(num_simulations)) == num_simulations
    return search


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
    config = PLAIN.model_copy(update=changes)
    ours = searched(game, config, 150)
    settings = improvement.SearchConfig(
        algorithm="puct",
        num_simulations=150,
        c_puct=2.0,
        has_proofs=False,
        **changes,
    )
    sides = game.board.player, game.board.opponent
    position = othello.Position(*(bitboard.from_int(side, 1) for side in sides))
    theirs = improvement.search(
        game.game,
        fake_evaluation.hashed(game.game),
        jax.random.key(0),
        position,
        config=settings,
        is_greedy=True,
    )
    visits = np.zeros(game.game.num_actions)
    prior = np.zeros(game.game.num_actions)
    for move in ours.look():
        visits[move.action], prior[move.action] = move.visits, move.prior
    np.testing.assert_allclose(theirs.policy[0], visits / 150, atol=1e-6)
    tree = ours._tree
    assert tree.nodes["value_sum"][0] / tree.nodes["visits"][0] == pytest.approx(
        float(theirs.value[0]), abs=1e-5
    )
    tempered = prior ** (1 / 1.5)
    np.testing.assert_allclose(theirs.prior[0], tempered / tempered.sum(), atol=1e-6)


def every_node(search):
    """Yields every open node of a search as its index, its edges and their children."""
    tree = search._tree
    for node in range(int(tree.counts[live_tree.NODES])):
        if tree.nodes["state"][node] == live_tree.OPEN:
            yield node, search._edges(node)["child"].tolist()


@pytest.mark.parametrize("leaves_per_step", [3, 8, 16])
def test_visits_and_values_add_up_with_several_leaves_a_step(leaves_per_step):
    game = midgame(8, 30)
    changes = {"leaves_per_step": leaves_per_step, "exact_empties": 6}
    search = searched(game, PLAIN.model_copy(update=changes), 500)
    tree = search._tree
    used = int(tree.counts[live_tree.NODES])
    assert tree.nodes["visits"][0] == 501
    assert not tree.nodes["virtual"][:used].any()
    assert not (tree.nodes["state"][:used] == live_tree.WAITING).any()
    for node, children in every_node(search):
        reached = [child for child in children if child >= 0]
        assert tree.nodes["visits"][node] == 1 + sum(
            tree.nodes["visits"][child] for child in reached
        )
        total = tree.nodes["raw_value"][node] - sum(
            tree.nodes["value_sum"][child] for child in reached
        )
        assert tree.nodes["value_sum"][node] == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("is_reversed", [False, True])
def test_leaves_near_the_end_have_exact_results(is_reversed):
    game = midgame(6, 20, seed=3, is_reversed=is_reversed)
    search = searched(game, PLAIN.model_copy(update={"exact_empties": 8}), 300)
    tree = search._tree
    used = int(tree.counts[live_tree.NODES])
    done = np.flatnonzero(tree.nodes["state"][:used] == live_tree.DONE)
    assert len(done) > 20
    bit = 8 * np.arange(6)[:, None] + np.arange(6)
    boards = [
        (int(tree.nodes["player"][node]) >> bit & 1)
        - (int(tree.nodes["opponent"][node]) >> bit & 1)
        for node in done
    ]
    scores = slow_minimax.scores(np.array(boards, np.int8), is_reversed=is_reversed)
    sign = -1 if is_reversed else 1
    np.testing.assert_array_equal(tree.nodes["raw_value"][done], sign * np.sign(scores))


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


def test_the_cache_holds_symmetric_positions_once():
    """Every form of a position is evaluated once, and in a second search none."""
    game = live_game.LiveGame(othello.Othello(8))
    evaluator = hash_evaluator.HashEvaluator(game.game)
    search = live_search.LiveSearch(evaluator, PLAIN, num_cached=2**16)
    search.grow(Limits(64))
    tree = search._tree
    nodes = [node for node, _ in every_node(search)]
    boards = [(tree.nodes["player"][node], tree.nodes["opponent"][node]) for node in nodes]
    forms = {host_rules.canonical(*board, 8)[:2] for board in boards}
    assert search.num_evaluations == len(forms) < len(nodes) - 10
    before = search.look()
    num_before = search.num_evaluations
    search.restart(game.board)
    search.grow(Limits(64))
    assert search.look() == before
    assert search.num_evaluations == num_before


def test_a_large_tree_grows_beyond_its_first_arrays():
    game = midgame(8, 16)
    search = searched(game, PLAIN.model_copy(update={"leaves_per_step": 32}), 5000)
    assert search._tree.nodes["visits"][0] == 5001
    assert search._tree.counts[live_tree.NODES] > 4000
    longest = max(len(move.line) for move in search.look())
    assert longest > 4


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
    game, num_before = midgame(6, 26), []

    def is_stopped():
        num_before.append(None)
        return len(num_before) > 1000

    search = plain_search(game, PLAIN)
    search.grow(Limits(), is_stopped=is_stopped)
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
