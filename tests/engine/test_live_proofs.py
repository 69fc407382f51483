"""Proven results in the tree of a live game: right, kept from move to move, and obeyed."""

import numpy as np
import pytest
from support.fakes import hash_evaluator
from support.references import slow_minimax, wipe_outs

from azo.engine import live_search, live_tree
from azo.engine.engine_settings import EngineConfig, Limits
from azo.games import othello
from azo.games.host import live_game
from azo.solver.host import endgame

CONFIG = EngineConfig(leaves_per_step=1, exact_empties=0)


def search_at(board, game=wipe_outs.GAME, num_simulations=50, **changes):
    """Returns a search of a position, by arbitrary evaluations."""
    config = CONFIG.model_copy(update=changes)
    search = live_search.LiveSearch(hash_evaluator.HashEvaluator(game), config)
    search.restart(board)
    search.grow(Limits(num_simulations))
    return search


def endings(game, num_empties):
    """Yields positions of random games at a number of empty squares."""
    for seed in range(20):
        rng, live = np.random.default_rng(seed), live_game.LiveGame(game)
        while live.num_empties > num_empties and not live.is_over:
            live.play(int(rng.choice(live.legal_actions)))
        if not live.is_over:
            yield live.board


@pytest.mark.thorough
@pytest.mark.parametrize("score_share", [0, 0.5])
@pytest.mark.parametrize(
    ("size", "num_empties", "is_reversed", "num_leaves", "exact_empties"),
    [
        (6, 7, True, 4, 0),
        (6, 7, True, 1, 5),
        (6, 7, False, 1, 5),
        pytest.param(4, 9, False, 1, 0, marks=pytest.mark.slow),
        pytest.param(8, 8, False, 1, 0, marks=pytest.mark.slow),
    ],
)
def test_every_bound_is_that_of_minimax(
    size, num_empties, is_reversed, num_leaves, exact_empties, score_share
):
    game = othello.Othello(size, is_reversed)
    changes = {"leaves_per_step": num_leaves, "exact_empties": exact_empties}
    trees = [
        search_at(board, game, 200, score_share=score_share, **changes)._tree
        for board in endings(game, num_empties)
    ]
    nodes = np.concatenate([tree.nodes[: tree.counts[live_tree.NODES]] for tree in trees])
    boards = slow_minimax.boards_of(nodes["player"], nodes["opponent"], size)
    scores = slow_minimax.scores(boards, is_reversed=is_reversed) * (-1 if is_reversed else 1)
    exact = scores if score_share else np.sign(scores)
    is_proven = nodes["lower"] == nodes["upper"]
    assert is_proven.mean() > (0.05 if score_share else 0.2)  # scores take longer
    assert (nodes["lower"] <= exact).all()
    assert (nodes["upper"] >= exact).all()
    solved = is_proven & ((boards == 0).sum(axis=(1, 2)) <= exact_empties)
    assert solved.any() or not exact_empties
    np.testing.assert_allclose(nodes["raw_score"][solved], scores[solved] / size**2, atol=1e-7)
    value = (1 - score_share) * np.sign(scores) + score_share * scores / size**2
    np.testing.assert_allclose(nodes["raw_value"][solved], value[solved], atol=1e-7)


@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_search_for_the_score_proves_it(is_reversed):
    game = othello.Othello(6, is_reversed)
    num_proven = 0
    for board in endings(game, 6):
        search = search_at(board, game, 2_000, score_share=0.9)
        exact = endgame.Solver(6, is_reversed=is_reversed).solve(
            board.player, board.opponent, every_move=True
        )
        report = search.report()
        assert (report.score, report.discs) == (exact.score, exact.score)
        best, *others = search.look()
        assert (best.score, exact.move_scores[best.action]) == (exact.score, exact.score)
        for move in others:
            assert move.score in (None, exact.move_scores[move.action])
            num_proven += move.score is not None
    assert num_proven > 10


def test_a_wipe_out_in_one_ply_is_played():
    positions = wipe_outs.before_the_end(1)
    assert len(positions) >= 50
    for board, _ in positions:
        search = search_at(board)
        best = search.look()[0]
        assert (best.is_proven, best.value, search.report().value) == (True, 1.0, 1.0)
        after = live_game.LiveGame(wipe_outs.GAME)
        after.new_game(board, [best.action])
        assert after.is_over


@pytest.mark.parametrize("num_simulations", [1, 50])
def test_a_move_that_allows_a_wipe_out_is_not_played(num_simulations):
    positions = wipe_outs.before_the_end(2)
    num_avoided = 0
    for board, (blunder, _) in positions:
        moves = search_at(board, num_simulations=num_simulations).look()
        (lost,) = (move for move in moves if move.action == blunder)
        assert (lost.is_proven, lost.value) == (True, -1.0)
        num_avoided += moves[0].value != -1.0
        assert moves[0].value != -1.0 or all(move.value == -1.0 for move in moves)
    assert num_avoided > 40


def test_proofs_survive_when_the_tree_moves_on():
    board = list(endings(wipe_outs.GAME, 10))[4]
    search = search_at(board, num_simulations=2000)
    best = next(move for move in search.look() if move.is_proven and move.visits)
    live = live_game.LiveGame(wipe_outs.GAME)
    live.new_game(board, [best.action])
    search.follow(live)
    assert search.report().value == -best.value
    assert search.grow(Limits(100)) == 0


def test_without_proofs_nothing_is_proven_but_finished_games():
    board, (blunder, _) = wipe_outs.before_the_end(2)[0]
    moves = search_at(board, has_proofs=False).look()
    assert not any(move.is_proven for move in moves if move.action == blunder)
