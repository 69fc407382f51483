"""Reads back what a panel of a report draws."""

import numpy as np


def panel(sheet, title):
    """Returns the axes of a figure with this title."""
    (axes,) = [axes for axes in sheet.panels if _title(axes) == title]
    return axes


def _title(axes):
    return axes.get_title(loc="left") or axes.get_title()


def curves(axes):
    """Returns x and y of all curves that have a label, by their labels."""
    lines = [line for line in axes.lines if not line.get_label().startswith("_")]
    return {
        line.get_label(): (line.get_xdata().tolist(), line.get_ydata().tolist()) for line in lines
    }


def band(axes, number=0):
    """Returns the ends `[N]` of a shaded interval, by ascending x."""
    x, y = axes.collections[number].get_paths()[0].vertices.T
    places = np.unique(x)
    return [[end(y[x == place]) for place in places] for end in (min, max)]


def fields(axes):
    """Returns the numbers of a heat map, NaN where it is blank."""
    return axes.images[0].get_array().filled(np.nan)


def ticks(axes):
    """Returns the names of the places on the x and on the y axis."""
    return [
        [text.get_text() for text in get()] for get in (axes.get_xticklabels, axes.get_yticklabels)
    ]


def texts(axes):
    """Returns the texts in a heat map by row and column."""
    return {
        (round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in axes.texts
    }
