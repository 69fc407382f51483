"""The figure of calibration: mean results by value."""

from collections.abc import Mapping

import numpy as np

from azo.measure import accuracy
from azo.measure.report import pages, panels


def page(sets: Mapping[str, Mapping[str, accuracy.Accuracy]]) -> str:
    """Returns the figure as an HTML page that needs no other file."""
    return pages.page("Calibration", panels.html(sheet(sets)))


def sheet(sets: Mapping[str, Mapping[str, accuracy.Accuracy]]) -> panels.Sheet:
    """Returns a figure with a panel for each set of positions and a curve for each player.

    Args:
      sets: by the name of the set and the name of the player; up to `accuracy.MAX_CURVES` players
        a set. The last player of a set has 95 % intervals.
    """
    figure = panels.Sheet("calibration", "Calibration", "")
    for name, by_player in sets.items():
        panel = figure.add_panel(
            name.partition(".")[0], "value", "mean result", limits=(-1.05, 1.05)
        )
        for number, (player, measured) in enumerate(by_player.items(), start=1):
            bins = [one for one in measured.calibration.bins if one.count]
            value, result = (np.array([getattr(b, x) for b in bins]) for x in ("value", "result"))
            interval = np.array([one.interval for one in bins]).T
            is_last = number == len(by_player)  # several intervals hide one another
            panels.curve(panel, player, value, result, *(interval if is_last else ()))
        panels.curve(panel, "as predicted", np.array([-1.0, 1.0]), np.array([-1.0, 1.0]))
    return figure
