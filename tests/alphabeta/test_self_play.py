"""Games of alpha-beta with itself: by the rules, with the scores in which they end."""

import itertools

import numpy as np
import pytest

from azo.alphabeta import fitting, search, self_play, weights
from azo.games.host import kernels
from azo.settings import shipped_files
from azo.solver.host import endgame

LEARNED = weights.load(shipped_files.NETWORKS / "zero-fast")


def play_games(number, seed, depth=2):
    memory = search.make_search(LEARNED.weights, LEARNED.cuts, log_rows=11, factor=1.5)
    return self_play.play_games(number, memory, depth=depth, seed=seed)


def legal(P, O):
    return int(kernels.legal_moves(np.uint64(P), np.uint64(O), kernels.FULL))


def children(P, O):
    """Returns the positions after each move, with the sign of the side to move there."""
    found = {}
    for square in range(64):
        if legal(P, O) >> square & 1:
            own, other = map(int, kernels.play(np.uint64(P), np.uint64(O), np.uint64(square)))
            if legal(own, other):
                found[own, other] = -1
            elif legal(other, own):
                found[other, own] = 1
    return found


@pytest.fixture(scope="module")
def games():
    """Positions and scores of each game."""
    examples = play_games(200, seed=5)
    rows = list(zip(*(part.tolist() for part in examples), strict=True))
    last = fitting.num_empties(*examples[:2]) == self_play.SOLVED
    ends = np.flatnonzero(last) + 1
    return [rows[begin:end] for begin, end in zip([0, *ends[:-1]], ends, strict=True)]


def test_positions_follow_one_another_by_the_rules(games):
    assert len(games) == 200
    passes = 0
    for game in games:
        for (P, O, score), (next_P, next_O, next_score) in itertools.pairwise(game):
            sign = children(P, O)[next_P, next_O]
            assert next_score == sign * score
            passes += sign > 0
    assert passes > 0


def test_games_have_their_score_under_perfect_play_from_the_end(games):
    solver = endgame.Solver()
    for game in games:
        P, O, score = game[-1]
        assert score == solver.solve(P, O).score


def test_games_differ_and_are_not_decided_from_the_start(games):
    assert len({game[0][:2] for game in games}) == len(games)
    lengths = [len(game) for game in games]
    assert min(lengths) < 28 < max(lengths)
    memory = search.make_search(LEARNED.weights, LEARNED.cuts, log_rows=11, factor=1.5)
    for game in games:
        value = search.best_move(*map(np.uint64, game[0][:2]), 2, memory)[1]
        assert abs(value) < 30 * 32  # the bound is 24 discs, by a search with another table


def test_a_seed_repeats_the_games():
    for one, other, third in zip(*(play_games(5, seed) for seed in (1, 1, 2)), strict=True):
        np.testing.assert_array_equal(one, other)
        assert len(one) != len(third) or (one != third).any()


def test_expected_decided_positions_count_less_in_the_fit(games):
    rows = [row for game in games for row in game]
    player, opponent, _ = (np.array(part) for part in zip(*rows, strict=True))
    player, opponent = player.astype(np.uint64), opponent.astype(np.uint64)
    stage = 10
    start = (LEARNED.weights[stage] / 32).astype(np.float32)
    shared = np.zeros(int(fitting._SHARED.max()) + 1, np.float32)
    shared[fitting._SHARED] = start
    expected = fitting.predict(fitting.list_rows(player, opponent), shared)
    target = expected + np.where(np.abs(expected) > 12, 20, 0).astype(np.float32)
    errors = {}
    for decided in (np.inf, 1.0):
        fitted, _, _ = fitting.fit_stage(
            stage, player, opponent, target, np.ones(len(player)), shared,
            ridge=10.0, num_steps=10, decided=decided,
        )  # fmt: skip
        change = fitting.predict(fitting.list_rows(player, opponent), fitted) - expected
        empties = fitting.num_empties(player, opponent)
        close = (np.abs(expected) < 4) & (np.abs(empties - 20.5) < 5)
        errors[decided] = np.abs(change[close]).mean()
    assert errors[1.0] < errors[np.inf] / 2
