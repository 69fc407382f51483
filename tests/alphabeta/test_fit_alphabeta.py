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


def _changed_stages(one, other):
    return np.flatnonzero((one.weights != other.weights).any(axis=1)).tolist()


def _refit(folder, **flags):
    words = [f"--{name}={value}" for name, value in ({"searched": 3} | flags).items()]
    assert fit_alphabeta.main([str(folder), *words]) == 0
    return weights.load(folder)  # with its checksum


def test_each_step_changes_its_own_stages(tmp_path):
    fitted = []
    for games in (0, 20):
        folder = tmp_path / str(games)
        shutil.copytree(shipped_files.NETWORKS / "zero-fast", folder)
        fitted.append(_refit(folder, positions=6000, games=games, values=0))
    assert _changed_stages(*fitted) == list(fit_alphabeta._SCORE_STAGES)


def test_continue_does_only_the_last_step(tmp_path, monkeypatch):
    monkeypatch.setattr(fit_alphabeta, "_FEW_POSITIONS", 4000)
    folder = tmp_path / "network"
    shutil.copytree(shipped_files.NETWORKS / "zero-fast", folder)
    before = weights.load(folder)
    monkeypatch.setattr(fit_alphabeta, "_VALUE_SIMULATIONS", 1)
    command = [str(folder), "--continue", "--values", "300", "--searched", "3"]
    assert fit_alphabeta.main(command) == 0
    after = weights.load(folder)
    changed = _changed_stages(before, after)
    assert changed
    assert set(changed) <= set(fit_alphabeta._VALUE_STAGES)
    assert (before.cuts != after.cuts).any()
    (folder / weights.FILE).unlink()
    with pytest.raises(SystemExit, match=r"alphabeta\.npz"):
        fit_alphabeta.main(command)


def test_values_of_searches_are_better_than_those_of_the_network(made):
    evaluator = engine_factory.load_evaluator(engine_factory.NetworkChoice())
    empties = fitting.num_empties(*made[:2])
    rows = np.flatnonzero((empties >= 9) & (empties <= 11))[:80]
    sides = made[0][rows], made[1][rows]
    values = fit_alphabeta.search_values("zero-fast", *sides)
    found = fit_alphabeta.to_discs(values, evaluator, *sides)
    solver = endgame.Solver()
    exact = [solver.solve(int(P), int(O)).score for P, O in zip(*sides, strict=True)]
    alone = 64 * np.asarray(evaluator.request(*sides, batch_size=len(rows)))[:, -1]
    errors = [np.abs(found - exact).mean(), np.abs(alone - exact).mean()]
    assert errors[0] < 0.5 * errors[1]


def test_all_games_are_played_in_parts_that_repeat():
    learned = fit_alphabeta._load(shipped_files.NETWORKS / "zero-fast")
    numbers = {"number": 5, "depth": 2}
    found = [
        fit_alphabeta.play_games(learned, **numbers, seeds=np.random.SeedSequence(seed))
        for seed in (1, 1, 2)
    ]
    assert (fitting.num_empties(*found[0][:2]) == self_play.SOLVED).sum() == 5
    for one, other in zip(*found[:2], strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(found[0].player, found[2].player)
