"""Reads back what a panel of a report draws."""


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


def fields(panel):
    """Returns the numbers of a heat map, NaN where it is blank."""
    return panel.data[0].z


def ticks(panel):
    """Returns the names of the places on the x and on the y axis."""
    return [list(panel.data[0].x), list(panel.data[0].y)]


def texts(panel):
    """Returns the texts in a heat map by row and column."""
    rows = panel.data[0].text
    return {(i, j): text for i, row in enumerate(rows) for j, text in enumerate(row) if text}
