"""The shipped weights and ProbCut deviations, and moves with them.

`weights` in the file is `[NUM_STAGES, shared entries]` int16: entries of mirrored contents of a
pattern are stored once. `cuts` is `[NUM_STAGES, depths]` with the fields of `CUT_FIT`.
"""

import functools
import pathlib
import statistics

import numpy as np

from azo.measure.pattern_search import evaluation, search
from azo.solver.host import deep, table

FILE = pathlib.Path(__file__).parents[1] / "weights" / "patterns.npz"
CONFIDENCE = 0.93  # that a cut is right
CUT_FIT = np.dtype(
    [
        ("depth", np.int64),  # of the shallow search; 0 for none
        ("slope", np.float64),  # deep value = slope * shallow value + offset, and an error
        ("offset", np.float64),
        ("deviation", np.float64),  # of the error
    ]
)


def choose(player: np.ndarray, opponent: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Chooses moves; each row is searched on its own.

    Args:
      player: `[B]` uint64, discs of the side to move, bit `8 * row + column`.
      opponent: `[B]` uint64, discs of the other side.
      depth: discs to place, at least 1.

    Returns:
      `[B]` int32 actions, the pass where no disc can be placed, and `[B]` int64, the number of
      positions visited.
    """
    # Calls in several threads share no memory. The table is cleared for each move, so it is small.
    memory = search.make_search(
        load_weights(), load_cuts(), max_depth=depth, log_rows=min(depth + 5, 18)
    )
    actions = np.full(len(player), table.NO_MOVE, np.int32)
    num_visited = np.zeros(len(player), np.int64)
    for row, (P, O) in enumerate(zip(player, opponent, strict=True)):
        table.clear(memory.memory)
        memory.counters[:] = 0
        actions[row], _ = search.best_move(P, O, depth, memory)
        if actions[row] != table.NO_MOVE:
            num_visited[row] = memory.counters[search.NODES]
    return actions, num_visited


@functools.cache
def load_weights() -> np.ndarray:
    """Returns `[NUM_STAGES, NUM_ROWS]` int16, in units of `1 / UNIT` discs."""
    with np.load(FILE) as file:
        return file["weights"][:, evaluation.shared_entries()]


@functools.cache
def load_cuts(confidence: float = CONFIDENCE) -> np.ndarray:
    """Returns the cuts of a search, `[NUM_STAGES, depths]`; each is right with the confidence."""
    with np.load(FILE) as file:
        return make_cuts(file["cuts"], confidence)


def make_cuts(fits: np.ndarray, confidence: float) -> np.ndarray:
    """Returns the cuts of fits `[NUM_STAGES, depths]`."""
    cuts = np.zeros(fits.shape, deep.CUT)
    for name in ("depth", "slope", "offset"):
        cuts[name] = fits[name]
    cuts["margin"] = statistics.NormalDist().inv_cdf(confidence) * fits["deviation"]
    return cuts
