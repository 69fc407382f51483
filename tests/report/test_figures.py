"""Figures of self-play, learning and Elo."""

from support.builders.fake_run import iteration, rated

from azo.report import figures, run_log


def sheet(name, *events, phases=("run",)):
    """Returns a figure of a run with these events in each phase."""
    run = run_log.from_phases([(phase, events) for phase in phases])
    (chosen,) = [one for one in figures.sheets(run) if one.name == name]
    return chosen


def curves(panel):
    """Returns x and y of all curves that have a label, by their labels."""
    return {t.name: (list(t.x), list(t.y)) for t in panel.data if t.showlegend is not False}


def band(panel):
    """Returns the ends of a shaded interval."""
    return [list(trace.y) for trace in panel.data if trace.showlegend is False]


def test_curves_leave_out_iterations_without_a_value():
    values = [None, 2.0, 1.0, 0.5]
    events = [iteration(n, **{"learner/policy_loss": x}) for n, x in enumerate(values, start=1)]
    (policy,) = sheet("losses", *events).panels
    assert policy.layout.title.text == "Policy loss"
    assert curves(policy) == {"training": ([2, 3, 4], [2.0, 1.0, 0.5])}


def test_evaluations_carry_their_interval():
    match = {"event": "evaluation", "iteration": 2, "evaluation/opponent": "rollouts:100"}
    score = {"evaluation/score": 0.6, "evaluation/score_low": 0.5, "evaluation/score_high": 0.7}
    events = iteration(1), iteration(2), match | score, iteration(3)
    (by_iteration,) = sheet("strength", *events).panels
    assert by_iteration.layout.title.text == "Score against rollouts:100"
    assert curves(by_iteration) == {"score": ([2], [0.6])}
    assert band(by_iteration) == [[0.5], [0.7]]


def test_gates_are_told_apart_by_their_verdict():
    gates = [
        {"event": "gate", "iteration": n, "gate/score": score, "gate/is_promoted": score > 0.55}
        for n, score in ((1, 0.5), (2, 0.6), (3, 0.4))
    ]
    panels = {x.layout.title.text: x for x in sheet("strength", iteration(1), *gates).panels}
    drawn = curves(panels["Gates: score against the actor network"])
    assert drawn == {"promoted": ([2], [0.6]), "not promoted": ([1, 3], [0.5, 0.4])}


def test_elo_and_lost_discs_are_drawn_over_minutes_with_the_players_met():
    met = {"rating/opponents": ["alphabeta:2"], "rating/opponents_elo": [-139.0]}
    later = met | {"rating/discs_lost": 1.25}
    events = iteration(1), rated(10, -200.0), rated(20, -100.0, **later)
    elo, lost = sheet("elo", *events).panels
    assert curves(elo)["network"] == ([1.0, 2.0], [-200.0, -100.0])
    assert band(elo) == [[-250.0, -150.0], [-150.0, -50.0]]
    for name, level in (("random", -643.0), ("alphabeta:2", -139.0)):
        assert curves(elo)[name] == ([1.0, 2.0], [level] * 2)
    assert curves(lost)["network"] == ([1.0, 2.0], [1.5, 1.25])


def test_networks_of_phases_are_drawn_over_iterations():
    phase = [iteration(1), iteration(20), rated(10), rated(20)]
    elo, _ = sheet("elo", *phase, phases=("1-a", "2-b")).panels
    assert curves(elo)["network"][0] == [10, 20, 30, 40]


def test_panels_of_what_a_run_does_not_use_are_not_drawn():
    unused = {"selfplay/resigned_share": 0.0, "resignation/threshold": -1.0}
    unused |= {"resignation/false_positive_share": 0.0, "selfplay/value_correlation": 0.0}
    events = [iteration(n, **unused, **{"selfplay/value_error": 0.1 * n}) for n in (1, 2, 3)]
    run = run_log.from_phases([("run", events)])
    assert "resignation" not in {one.name for one in figures.sheets(run)}
    assert [one.layout.title.text for one in sheet("values", *events).panels] == [
        "Signed value error"
    ]
    events[2]["selfplay/resigned_share"] = 0.2  # used: a share of 0 that was not lost is good
    titles = [one.layout.title.text for one in sheet("resignation", *events).panels]
    assert titles == [
        "Games resigned",
        "Value below which a side resigns",
        "Resigned games not lost",
    ]


def test_an_opponent_has_one_colour_in_all_panels():
    matches = [
        {
            "event": "evaluation",
            "iteration": n,
            "evaluation/opponent": name,
            "evaluation/score": 0.5,
        }
        for n, name in ((1, "random"), (2, "alphabeta:2"), (3, "rollouts:100"))
    ]
    events = *map(iteration, (1, 2, 3)), *matches, rated(2)
    colours = {}
    for name in ("strength", "elo"):
        for panel in sheet(name, *events).panels:
            for trace in panel.data:
                if trace.name in {"random", "alphabeta:2", "rollouts:100"}:
                    colours.setdefault(trace.name, []).append(trace.line.color)
    assert {name: len(every) for name, every in colours.items()} == {
        "random": 2, "alphabeta:2": 2, "rollouts:100": 1
    }  # fmt: skip
    assert all(len(set(every)) == 1 for every in colours.values())
    assert len({every[0] for every in colours.values()}) == 3
