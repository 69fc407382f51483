"""Events of a run, and phases that follow one another."""

import numpy as np

from azo.measure.report import run_log


def iteration(number, **fields):
    return {"event": "iteration", "iteration": number} | fields


def run_of(*events):
    return run_log.from_phases([("run", events)])


def test_totals_continue_over_phases():
    def phase(number_of_iterations):
        totals = {"selfplay/games": 10, "selfplay/evaluations": 100, "time/training_seconds": 2.0}
        events = [
            iteration(number, **{name: total * number for name, total in totals.items()})
            for number in range(1, number_of_iterations + 1)
        ]
        match = {"evaluation/score": 0.5 + 0.1 * number_of_iterations}
        return [*events, {"event": "evaluation", "iteration": number_of_iterations} | match]

    run = run_log.from_phases([("1-warm-up", phase(2)), ("2-small", phase(3))])
    assert run.phases == [("1-warm-up", 1), ("2-small", 3)]
    assert [event["iteration"] for event in run.of_kind("iteration")] == [1, 2, 3, 4, 5]
    assert run.of_kind("iteration")[-1]["time/training_seconds"] == 10.0
    iterations, scores = run.column("evaluation/score", "evaluation")
    np.testing.assert_allclose(scores, [0.7, 0.8])
    np.testing.assert_array_equal(run.total_at("selfplay/games", iterations), [20, 50])
    np.testing.assert_array_equal(run.total_at("selfplay/evaluations", iterations), [200, 500])


def test_a_total_is_unknown_before_its_first_value():
    run = run_of(iteration(1), iteration(2, games=5), iteration(3), iteration(4, games=9))
    np.testing.assert_array_equal(run.total_at("games", np.arange(1, 6)), [np.nan, 5, 5, 9, 9])
    assert np.isnan(run.total_at("other", np.array([4]))).all()
