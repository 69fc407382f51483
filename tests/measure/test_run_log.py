"""Events of a run in spans, and phases that follow one another."""

import numpy as np

from azo.measure.report import run_log


def iteration(number, **fields):
    return {"event": "iteration", "iteration": number} | fields


def run_of(*events):
    return run_log.from_phases([("run", events)])


def test_a_run_without_generations_is_cut_into_ten_spans():
    run = run_of(*(iteration(number, **{"selfplay/games": 4 * number}) for number in range(1, 24)))
    labels = ["1–3", "4–6", "7–9", "10–11", "12–13", "14–15", "16–17", "18–19", "20–21", "22–23"]
    assert [span.label for span in run.spans] == labels
    assert not run.are_generations


def test_too_many_generations_are_not_told_apart():
    def are_told_apart(num_generations):
        return run_of(
            *(iteration(n + 1, generation=n) for n in range(num_generations))
        ).are_generations

    assert are_told_apart(40)
    assert not are_told_apart(41)


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
    assert [event["iteration"] for event in run.iterations] == [1, 2, 3, 4, 5]
    assert run.iterations[-1]["time/training_seconds"] == 10.0
    iterations, scores = run.column("evaluation/score", "evaluation")
    np.testing.assert_allclose(scores, [0.7, 0.8])
    np.testing.assert_array_equal(run.total_at("selfplay/games", iterations), [20, 50])
    np.testing.assert_array_equal(run.total_at("selfplay/evaluations", iterations), [200, 500])
    # No span reaches over two phases.
    assert [span.label for span in run.spans] == ["1", "2", "3", "4", "5"]
    long = run_log.from_phases([("1-a", phase(4)), ("2-b", phase(36))])
    assert [span.label for span in long.spans][:2] == ["1–4", "5–8"]


def test_generations_of_phases_stay_apart():
    lines = [iteration(number, generation=number - 1) for number in (1, 2)]
    run = run_log.from_phases([("1-a", lines), ("2-b", lines)])
    assert [(span.label, span.first) for span in run.spans] == [
        ("0", 1),
        ("1", 2),
        ("2", 3),
        ("3", 4),
    ]


def test_a_total_is_unknown_before_its_first_value():
    run = run_of(iteration(1), iteration(2, games=5), iteration(3), iteration(4, games=9))
    np.testing.assert_array_equal(run.total_at("games", np.arange(1, 6)), [np.nan, 5, 5, 9, 9])
    assert np.isnan(run.total_at("other", np.array([4]))).all()
