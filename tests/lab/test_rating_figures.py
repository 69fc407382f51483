"""The figure of rated networks."""

from support import drawn_panels
from support.drawn_panels import iteration, run_of, sheet
from support.fake_run import rated

from azo.lab.report import figures, run_log


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
