"""Figures of learning."""

from support import drawn_panels

from azo.measure import diagnostics
from azo.measure.report import learning_figures, run_log

FLUCTUATION = diagnostics.Fluctuation((1, 10, 100), (0.5, 0.25, 0.0), (0.4, 0.1, 0.0), 64)


def iteration(number, **fields):
    return {"event": "iteration", "iteration": number} | fields


def run_of(*events):
    return run_log.from_phases([("run", events)])


def sheet(run, name):
    """Returns a figure by its name."""
    (chosen,) = [one for one in learning_figures.sheets(run, FLUCTUATION) if one.name == name]
    return chosen


def test_losses_are_means_of_a_span_without_unknown_values():
    values = [None, 2.0, 1.0, 0.5]
    run = run_of(
        *(
            iteration(n, generation=(n - 1) // 2, **{"learner/policy_loss": value})
            for n, value in enumerate(values, start=1)
        )
    )
    losses = sheet(run, "losses")
    curves = drawn_panels.curves(drawn_panels.panel(losses, "Policy loss"))
    assert curves == {"training": ([1.5, 3.5], [2.0, 0.75])}
    assert losses.missing == ["learner/value_loss"]


def test_the_search_is_compared_with_its_largest():
    value, move = sheet(run_of(iteration(1)), "fluctuation").panels
    assert value.get_title() == "Value against that of 100 simulations"
    assert [line.get_xydata().tolist() for line in value.lines] == [[[1, 0.5], [10, 0.25]]]
    assert [line.get_xydata().tolist() for line in move.lines] == [[[1, 0.4], [10, 0.1]]]
