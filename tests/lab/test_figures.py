"""Figures of self-play, learning and Elo."""

from support import drawn_panels
from support.drawn_panels import iteration, run_of, sheet
from support.fake_run import rated

from azo.lab.report import figures, run_log


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


def test_elo_and_lost_discs_are_drawn_over_minutes_with_the_players_met():
    met = {"rating/opponents": ["alphabeta:2"], "rating/opponents_elo": [-139.0]}
    later = met | {"rating/discs_lost": 1.25}
    run = run_of(iteration(1), rated(10, -200.0), rated(20, -100.0, **later))
    elo, lost = sheet(figures, run, "elo").panels
    curves = drawn_panels.curves(elo)
    assert curves["network"] == ([1.0, 2.0], [-200.0, -100.0])
    assert drawn_panels.band(elo) == [[-250.0, -150.0], [-150.0, -50.0]]
    for name, level in (("random", -643.0), ("alphabeta:2", -139.0)):
        assert curves[name] == ([1.0, 2.0], [level] * 2)
    assert drawn_panels.curves(lost)["network"] == ([1.0, 2.0], [1.5, 1.25])


def test_networks_of_phases_are_drawn_over_iterations():
    phase = [iteration(1), iteration(20), rated(10), rated(20)]
    run = run_log.from_phases([("1-a", phase), ("2-b", phase)])
    elo, _ = sheet(figures, run, "elo").panels
    assert drawn_panels.curves(elo)["network"][0] == [10, 20, 30, 40]
