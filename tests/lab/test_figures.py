"""Figures of self-play and learning."""

from support import drawn_panels
from support.drawn_panels import iteration, run_of, sheet

from azo.lab.report import figures


def test_curves_leave_out_iterations_without_a_value():
    values = [None, 2.0, 1.0, 0.5]
    events = [iteration(n, **{"learner/policy_loss": x}) for n, x in enumerate(values, start=1)]
    losses = sheet(figures, run_of(*events), "losses")
    curves = drawn_panels.curves(drawn_panels.panel(losses, "Policy loss"))
    assert curves == {"training": ([2, 3, 4], [2.0, 1.0, 0.5])}
    assert len(losses.panels) == 1


def test_evaluations_carry_their_interval():
    match = {"event": "evaluation", "iteration": 2, "evaluation/opponent": "rollouts:100"}
    score = {"evaluation/score": 0.6, "evaluation/score_low": 0.5, "evaluation/score_high": 0.7}
    run = run_of(iteration(1), iteration(2), match | score, iteration(3))
    (by_iteration,) = sheet(figures, run, "strength").panels
    assert by_iteration.layout.title.text == "Score against rollouts:100"
    assert drawn_panels.curves(by_iteration) == {"score": ([2], [0.6])}
    assert drawn_panels.band(by_iteration) == [[0.5], [0.7]]


def test_gates_are_told_apart_by_their_verdict():
    gates = [
        {"event": "gate", "iteration": n, "gate/score": score, "gate/is_promoted": score > 0.55}
        for n, score in ((1, 0.5), (2, 0.6), (3, 0.4))
    ]
    strength = sheet(figures, run_of(iteration(1), *gates), "strength")
    axes = drawn_panels.panel(strength, "Gates: score against the actor network")
    assert drawn_panels.curves(axes) == {
        "promoted": ([2], [0.6]),
        "not promoted": ([1, 3], [0.5, 0.4]),
    }
