"""What analyses say in discs is near the truth, and more search does not make it worse."""

import numpy as np
import pytest

from azo.engine import engine_factory
from azo.engine.engine_settings import EngineConfig, Limits
from azo.engine.live_engine import Engine
from azo.formats import obf


@pytest.fixture(scope="module")
def engine():
    """The engine that plays by default, without the solver at the root."""
    evaluator = engine_factory.load_evaluator(engine_factory.NetworkChoice())
    return Engine(evaluator, EngineConfig(solve_empties=0, probe_nodes=0))


def test_the_error_in_discs_does_not_grow_with_the_search(engine, data_folder):
    problems = obf.read(data_folder / "endgame" / "wthor_exact_18_26.obf.gz")
    problems = [each for each in problems if 21 <= each.num_empties <= 26][::2]
    assert len(problems) > 40
    errors = []
    for num_simulations in (400, 2_000, 10_000):
        limits = Limits(num_simulations, is_analysis=True)
        found = []
        for problem in problems:
            engine.new_game(problem.board)
            found.append(engine.think(limits).discs - problem.best_score())
        errors.append(np.abs(found).mean())
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] <= 3.0


def test_an_analysis_has_one_view_of_a_position(engine):
    """The headline is that of the best move, moves are in order, and chances have its sign."""
    rng = np.random.default_rng(3)
    for _ in range(6):
        engine.new_game()
        while engine.num_empties > 24 and not engine.is_over:
            engine.play(int(rng.choice(engine.legal_actions)))
        if engine.is_over:
            continue
        report = engine.think(Limits(500, is_analysis=True))
        best = report.moves[0]
        assert (report.action, report.discs) == (best.action, best.discs)
        assert report.value == best.value
        discs = [move.discs for move in report.moves if move.discs is not None]
        assert discs == sorted(discs, reverse=True)
        for move in report.moves:
            if move.discs:
                assert np.sign(move.value) == np.sign(move.discs)
