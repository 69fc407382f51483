"""The positions and cuts that `scripts/fit_alphabeta.py` fits the evaluation to."""

import shutil

import numpy as np
import pytest

from azo.alphabeta import fitting, search, self_play, weights
from azo.engine import engine_factory
from azo.games.host import kernels
from azo.settings import shipped_files
from azo.solver.host import endgame
from scripts import fit_alphabeta


@pytest.fixture(scope="module")
def made():
    evaluator = engine_factory.load_evaluator(engine_factory.NetworkChoice())
    return fit_alphabeta.positions(evaluator, 1_000, seed=3, num_games=64)


def test_positions_are_reproducible_and_have_a_legal_move(made):
    evaluator = engine_factory.load_evaluator(engine_factory.NetworkChoice())
    again = fit_alphabeta.positions(evaluator, 1_000, seed=3, num_games=64)
    for one, other in zip(made, again, strict=True):
        np.testing.assert_array_equal(one, other)
    player, opponent, _ = made
    assert len(player) >= 1_000
    assert not (player & opponent).any()
    legal = [kernels.legal_moves(P, O, kernels.FULL) for P, O in zip(player, opponent, strict=True)]
    assert all(legal)


def test_targets_are_scores_after_the_best_move(made):
    player, opponent, target = made
    solver, empties = endgame.Solver(), fitting.num_empties(player, opponent)
    last = np.flatnonzero(empties == 1)
    assert len(last) > 20
    for row in last:
        assert target[row] == solver.solve(int(player[row]), int(opponent[row])).score
    late = np.flatnonzero((empties >= 6) & (empties <= 10))
    exact = [solver.solve(int(player[row]), int(opponent[row])).score for row in late]
    assert np.corrcoef(exact, target[late])[0, 1] > 0.9


def test_deeper_cuts_deviate_at_least_as_much_as_measured_ones():
    cuts = search.no_cuts()[10]
    for depth in range(2, 13):
        for place, shallow in enumerate(fit_alphabeta._SHALLOW[depth]):
            cuts[depth, place] = shallow, 1.0, 0.0, 60 + 10 * np.log(depth / max(shallow, 1))
    fit_alphabeta._extend_cuts(cuts)
    for depth in range(13, search.MAX_CUT_DEPTH + 1):
        for place, shallow in enumerate(fit_alphabeta._SHALLOW[depth]):
            assert cuts[depth, place]["depth"] == shallow < depth
            expected = 60 + 10 * np.log(depth / shallow)
            assert cuts[depth, place]["deviation"] == pytest.approx(expected, abs=1.0)


def test_games_change_the_middle_stages_only(tmp_path):
    fitted = []
    for games in (0, 20):
        folder = tmp_path / str(games)
        shutil.copytree(shipped_files.NETWORKS / "zero-fast", folder)
        numbers = ["--positions", "6000", "--searched", "3", "--games", str(games)]
        assert fit_alphabeta.main([str(folder), *numbers]) == 0
        fitted.append(weights.load(folder))  # with its checksum
    changed = (fitted[0].weights != fitted[1].weights).any(axis=1)
    assert np.flatnonzero(changed).tolist() == list(fit_alphabeta._SCORE_STAGES)


def test_all_games_are_played_in_parts_that_repeat():
    learned = weights.load(shipped_files.NETWORKS / "zero-fast")
    numbers = {"number": 5, "depth": 2}
    found = [
        fit_alphabeta.play_games(*learned, **numbers, seeds=np.random.SeedSequence(seed))
        for seed in (1, 1, 2)
    ]
    assert (fitting.num_empties(*found[0][:2]) == self_play.SOLVED).sum() == 5
    for one, other in zip(*found[:2], strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(found[0].player, found[2].player)
