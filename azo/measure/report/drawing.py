"""Colours and style of all plots."""

from typing import Any

# Colours of Okabe and Ito, which most colour-blind readers tell apart
# (https://jfly.uni-koeln.de/color/).
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
STYLE: dict[str, Any] = {
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "legend.fontsize": 10,
    "figure.facecolor": "white",
}
