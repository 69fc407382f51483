"""Measures the deviations for ProbCut of the player `patterns:DEPTH`, and adds them to its weights.

`python scripts/fit_pattern_cuts.py DATA` takes positions of the games in the folder DATA after two
random moves (see `fit_pattern_weights.py`) and searches each to all depths. For each stage and
depth, the value is regressed on that of a shallower search. Searches deeper than 6 use the cuts
that the fits of the less deep ones give.
"""

import argparse
import pathlib
import sys
from collections.abc import Sequence

import fit_pattern_weights
import numpy as np

from azo.opponents.pattern_search import evaluation, search
from azo.solver.host import probcut, table

SHALLOW = {3: 1, 4: 2, 5: 1, 6: 2, 7: 3, 8: 4, 9: 3, 10: 4, 11: 5, 12: 6}  # depths
FULL_DEPTH = 6  # searched without cuts
MAX_DEPTH = max(SHALLOW)
STAGES = range(3, evaluation.NUM_STAGES - 1)  # in others all searches are exact, or few are needed
NUM_POSITIONS = 50  # of each stage
CONFIDENCE = 0.98  # of the cuts in deeper searches
MAX_VALUE = 30  # discs: the values of more decided positions do not matter
INFINITE = 1 << 15


def main(argv: Sequence[str]) -> int:
    """Measures and writes the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path, help="folder with games and labelled")
    flags = parser.parse_args(argv)
    games = fit_pattern_weights.positions_of_games(flags.data)
    chosen = np.random.default_rng(20).choice(games, 20_000, replace=False)
    positions = fit_pattern_weights.after_random_moves(chosen, 2, seed=20)
    with np.load(search.FILE) as file:
        weights = file["weights"]
    fits = measure(positions, weights[:, evaluation.shared_entries()])
    for depth, shallow in SHALLOW.items():
        deviation = fits["margin"][list(STAGES), depth] / evaluation.UNIT
        print(f"depth {depth} by {shallow}: deviation {np.round(deviation, 1)} discs")
    np.savez_compressed(search.FILE, weights=weights, cuts=fits)
    return 0


def measure(positions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns `[NUM_STAGES, depths]` probcut.CUT, whose margins are one standard deviation.

    Other stages than STAGES have the fit of the nearest one.
    """
    fits = np.zeros((evaluation.NUM_STAGES, MAX_DEPTH + 1), probcut.CUT)
    empties = fit_pattern_weights.num_empties(positions)
    stages = np.array([evaluation.stage(number) for number in empties])
    for top in (FULL_DEPTH, MAX_DEPTH):
        cuts = search.make_cuts(fits, CONFIDENCE)
        memory = search.make_search(weights, cuts, max_depth=top, log_rows=16)
        for stage in STAGES:
            rows = positions[stages == stage][:NUM_POSITIONS]
            values = np.array([_values(row, top, memory) for row in rows])
            for depth, shallow in SHALLOW.items():
                if depth <= top:
                    fits[stage, depth] = _regress(values, depth, shallow)
    for stage in range(evaluation.NUM_STAGES):
        fits[stage] = fits[min(max(stage, STAGES[0]), STAGES[-1])]
    return fits


def _values(row: np.void, top: int, memory: search.PatternSearch) -> list[int]:
    """Returns the values of a position at depths 0 to `top`."""
    table.clear(memory.memory)
    P, O = row["player"], row["opponent"]
    return [search.run(P, O, depth, -INFINITE, INFINITE, memory) for depth in range(top + 1)]


def _regress(values: np.ndarray, depth: int, shallow: int) -> tuple[int, float, float, float]:
    """Returns a fit, as in `measure`, from values `[M, depths]`."""
    values = values[np.abs(values[:, shallow]) < MAX_VALUE * evaluation.UNIT]
    slope, offset = np.polyfit(values[:, shallow], values[:, depth], 1)
    error = values[:, depth] - slope * values[:, shallow] - offset
    return shallow, slope, offset, float(np.sqrt((error**2).sum() / (len(error) - 2)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
