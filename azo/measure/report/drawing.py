"""What all pictures share: a library that may be missing, and how they look."""

import contextlib
from collections.abc import Iterator
from typing import Any

# Okabe and Ito's, which most people with a colour blindness tell apart.
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


@contextlib.contextmanager
def needing_matplotlib(what: str) -> Iterator[None]:
    """Says that `what` needs matplotlib where an import inside fails for lack of it.

    Raises:
      ValueError: matplotlib is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise ValueError(f"{what} needs matplotlib: pip install 'azo[report]'") from None
