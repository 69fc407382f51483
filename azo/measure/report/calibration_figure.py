"""The figure of calibration: mean results by value, and values against scores."""

from collections.abc import Mapping, Sequence

import numpy as np

from azo.measure import calibration, exact
from azo.measure.report import panels

_SCORE_STEP, _VALUE_STEP = 8, 0.1  # of the fields of the heat map

# Name of a file, its labels, and by player the opinions and how they fit.
MeasuredSet = tuple[str, calibration.Labels, Mapping[str, tuple[exact.Opinion, calibration.Fit]]]


def png(sets: Sequence[MeasuredSet]) -> bytes:
    """Returns the figure as a PNG."""
    with panels.style():
        return sheet(sets).png()


def sheet(sets: Sequence[MeasuredSet]) -> panels.Sheet:
    """Returns a figure with two panels for each set.

    The first has the mean result by value of up to `calibration.MAX_CURVES` players, with the 95 %
    intervals of the last player. The second has the values of the last player and the scores.
    """
    figure = panels.Sheet("calibration", "Calibration", "")
    for file, labels, opinions in sets:
        name = file.partition(".")[0]
        _add_reliability(figure, name, {player: fit for player, (_, fit) in opinions.items()})
        player, (opinion, _) = list(opinions.items())[-1]
        value = np.asarray(opinion.value)
        _add_histogram(figure, f"{name}: {player}", value, labels.known.utility)
    return figure


def _add_reliability(figure: panels.Sheet, name: str, fits: Mapping[str, calibration.Fit]) -> None:
    axes = figure.add_panel(name, "value", "mean result", limits=(-1.05, 1.05))
    for number, (player, fit) in enumerate(fits.items(), start=1):
        bins = [one for one in fit.calibration.bins if one.count]
        value, result = (np.array([getattr(b, key) for b in bins]) for key in ("value", "result"))
        interval = np.array([one.interval for one in bins]).T
        is_last = number == len(fits)  # several intervals hide one another
        panels.curve(axes, player, value, result, *(interval if is_last else ()))
    panels.curve(axes, "as predicted", np.array([-1.0, 1.0]), np.array([-1.0, 1.0]))
    panels.finish_curves(axes)


def _add_histogram(
    figure: panels.Sheet, title: str, value: np.ndarray, utility: np.ndarray
) -> None:
    """Adds the positions in percent by value, the highest at the top, and by utility."""
    scores = np.arange(-64, 65, _SCORE_STEP)
    values = np.linspace(-1.0, 1.0, 1 + round(2 / _VALUE_STEP))
    count, _, _ = np.histogram2d(
        value,
        np.clip(utility, -64, 64),
        bins=(
            np.append(values - _VALUE_STEP / 2, 1 + _VALUE_STEP / 2),
            np.append(scores - _SCORE_STEP / 2, 64 + _SCORE_STEP / 2),
        ),
    )
    share = 100 * count[::-1] / len(value)
    axes = figure.add_panel(title, "score", "value")
    panels.heat_map(axes, np.where(share > 0, share, np.nan), "positions, %")
    panels.set_ticks(
        axes,
        rows=[f"{round(centre, 1) or 0:.1f}" for centre in values[::-1]],
        columns=[f"{score:d}" for score in scores],
    )
