"""How many steps do the exact endings of one iteration take, by lanes and by programs of a GPU?

    python -m benchmarks.accelerators.endings --empties 6 8 10

Endings are positions of random games. All their moves are searched, each by a search of its own,
and the steps of each search are counted on this machine. XLA's lanes share the searches: their
steps are the sum by the number of lanes, at best. A program of 32 lanes steps as often as the
slowest of them. Seconds are calculated from these, see `cost`.
"""

import functools
import sys
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
import pydantic

from azo.cli import command_line
from azo.games import othello
from azo.solver.device import kernel_check, lanes
from benchmarks import measure
from benchmarks.accelerators import cost

GAME = othello.Othello(8)
NUM_LANES, LANES_OF_PROGRAM = 256, 32


class Flags(pydantic.BaseModel, frozen=True, extra="forbid"):
    """How many steps do the exact endings of one iteration take?"""

    empties: tuple[pydantic.PositiveInt, ...] = (6, 8, 10)
    """Empty squares of the endings."""
    num_endings: pydantic.PositiveInt = 655
    """Endings of one iteration of azo8-gpu: 2,048 games x 16 plies, 50 plies per game."""
    seed: int = 0
    """Seed of the random games."""


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the table; returns the exit code."""
    flags = command_line.parse(
        Flags, argv, prog="python -m benchmarks.accelerators.endings", description=__doc__
    )
    rows = []
    for empties in flags.empties:
        steps = steps_of_searches(empties, flags.num_endings, flags.seed)
        by_lanes = int(steps.sum()) // NUM_LANES
        slowest = int(steps.max())
        rows.append(
            (
                f"{empties}",
                f"{steps.size:,}",
                f"{by_lanes:,}",
                f"{by_lanes * cost.LANE_STEP_SECONDS:.3f}",
                f"{slowest:,}",
                f"{slowest * cost.PROGRAM_STEP_SECONDS:.3f}",
            )
        )
    columns = (
        "empty squares",
        "searches",
        f"steps of {NUM_LANES} lanes",
        "s, calculated",
        "steps of the slowest program",
        "s, calculated",
    )
    print(measure.markdown_table(columns, rows))
    return 0


def steps_of_searches(num_empties: int, num_endings: int, seed: int) -> np.ndarray:
    """Returns the steps `[N]` of the searches of all moves of random endings."""
    position = jax.jit(
        functools.partial(kernel_check.random_endings, GAME, num_endings, num_empties)
    )(jax.random.key(seed))
    actions = GAME.legal_actions(position, num_empties)
    before = jax.tree.map(lambda x: jnp.broadcast_to(x[:, None], actions.shape), position)
    is_move = np.asarray(actions >= 0).ravel()
    after = jax.tree.map(lambda x: x.ravel()[is_move], GAME.play(before, actions))
    return np.asarray(_count(lanes.Searcher(GAME, num_empties), after))


@functools.partial(jax.jit, static_argnums=0)
def _count(searcher: lanes.Searcher, position: othello.Position) -> jax.Array:
    def step(state: tuple) -> tuple:
        searches, steps = state
        return searcher.step(searches), steps + ~searches.is_solved

    begin = searcher.start(position)
    steps = jnp.zeros(begin.alpha.shape, jnp.int32)
    return jax.lax.while_loop(lambda state: ~state[0].is_solved.all(), step, (begin, steps))[1]


if __name__ == "__main__":
    sys.exit(command_line.run_main(main))
