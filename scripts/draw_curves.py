"""Draws the strength of runs over their minutes: `docs/curves.svg`, `docs/recipes.svg`.

python scripts/draw_curves.py --output docs/curves.svg runs/azo8 runs/tower8

A run is named after its folder; phases in separate folders are joined. The upper panel shows Elo on
the fixed ladder with 95 % intervals, the lower one the discs lost per move on solved positions.
"""

import argparse
import pathlib
from typing import Any

import matplotlib.pyplot as plt

from azo.training import metrics


def main() -> None:
    """Reads the ratings of the runs and draws both panels."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="RUN")
    parser.add_argument("--output", required=True, type=pathlib.Path)
    options = parser.parse_args()
    plt.rcParams |= {"svg.hashsalt": "azo", "svg.fonttype": "none", "font.size": 9}
    figure, (elo, lost) = plt.subplots(2, 1, figsize=(7, 5), sharex=True, height_ratios=(2, 1))
    for folder in options.folders:
        minutes, ratings = ratings_of(folder)
        (line,) = elo.plot(
            minutes, [x["rating/elo"] for x in ratings], "o-", ms=3, label=folder.name
        )
        low, high = ([x[f"rating/elo_{end}"] for x in ratings] for end in ("low", "high"))
        elo.fill_between(minutes, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
        lost.plot(minutes, [x["rating/discs_lost"] for x in ratings], "o-", ms=3)
    elo.set_ylabel("Elo on the fixed ladder")
    lost.set_ylabel("discs lost per move")
    lost.set_xlabel("minutes")
    for axes in (elo, lost):
        axes.set_xscale("log")
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    low, high = lost.get_xlim()
    ticks = [tick for tick in (0.5, 1, 2, 4, 8, 15, 30, 60) if low < tick < high]
    lost.set_xticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
    lost.set_xticks([], minor=True)
    elo.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    figure.tight_layout()
    figure.savefig(options.output, metadata={"Date": None})


def ratings_of(folder: pathlib.Path) -> tuple[list[float], list[dict[str, Any]]]:
    """Returns the minutes of a run until each of its ratings, and the ratings."""
    minutes, ratings, before = [], [], 0.0
    for file in sorted(folder.glob("**/metrics.jsonl")):
        found = metrics.read(file.parent, metrics.RATING)
        minutes += [before + event["time/minutes"] for event in found]
        ratings += found
        before += metrics.largest(metrics.read(file.parent), "time/minutes")
    return minutes, ratings


if __name__ == "__main__":
    main()
