"""Figures of made-up events, and what their panels draw."""

from azo.lab.report import run_log


def iteration(number, **fields):
    return {"event": "iteration", "iteration": number} | fields


def run_of(*events):
    return run_log.from_phases([("run", events)])


def sheet(module, run, name):
    """Returns the figure of a module by its name."""
    (chosen,) = [one for one in module.sheets(run) if one.name == name]
    return chosen


def panel(sheet, title):
    """Returns the panel of a figure with this title."""
    (found,) = [panel for panel in sheet.panels if panel.layout.title.text == title]
    return found


def curves(panel):
    """Returns x and y of all curves that have a label, by their labels."""
    return {t.name: (list(t.x), list(t.y)) for t in panel.data if t.showlegend is not False}


def band(panel):
    """Returns the ends `[N]` of a shaded interval."""
    low, high = [list(trace.y) for trace in panel.data if trace.showlegend is False]
    return [low, high]
