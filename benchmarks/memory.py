"""How many bytes do a game, a node of a search and a recorded position take, against Pgx and mctx?

    python -m benchmarks.memory

Nothing is run: bytes follow from the shapes and types of the arrays.
"""

import functools
import math
import sys
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import pydantic

from azo.games import othello
from azo.learning import replay, trajectories
from azo.search import improvement
from benchmarks import baselines, measure

MAX_NODE_BYTES = 500
BOARDS = (6, 8)


class MemoryBenchConfig(measure.Settings):
    """How many bytes do a game, a node of a search and a recorded position take?"""

    simulations: pydantic.PositiveInt = 100
    """Simulations of the search whose trees are measured."""
    with_pgx: bool = True
    """Compare with Pgx, if it is installed."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and returns the exit code."""
    return measure.run("benchmarks.memory", MemoryBenchConfig, report, argv)


def report(config: MemoryBenchConfig) -> list[str]:
    """Returns the lines of markdown."""
    rows: dict[str, list[str]] = {
        "state of a game": [],
        f"node of a search of {config.simulations} simulations, in each game": [],
        "the same with mctx and azo's positions": [],
        "recorded ply": [],
        "position in the replay": [],
        "pending plies of a game": [],
    }
    for size in BOARDS:
        column = azo_bytes(othello.Othello(size), config.simulations)
        for cells, value in zip(rows.values(), column, strict=True):
            cells.append(f"{value:,.0f}")
    columns = ["bytes", *(f"azo {size}x{size}" for size in BOARDS)]
    if config.with_pgx and baselines.has_pgx():
        columns.append("Pgx and mctx, 8x8")
        for cells, num_bytes_of_pgx in zip(
            rows.values(), pgx_bytes(config.simulations), strict=True
        ):
            cells.append("" if num_bytes_of_pgx is None else f"{num_bytes_of_pgx:,.0f}")
    aims = ["", f"at most {MAX_NODE_BYTES}", "", "", "", ""]
    return [
        measure.markdown_table(
            [*columns, "aim for azo"],
            [[name, *cells, aim] for (name, cells), aim in zip(rows.items(), aims, strict=True)],
        ),
        "",
    ]


def azo_bytes(game: othello.Othello, simulations: int) -> list[float]:
    """Returns the bytes of each row for azo."""
    config = improvement.SearchConfig(num_simulations=simulations)
    key = jax.random.key(0)
    position = jax.eval_shape(functools.partial(game.start, 1))
    search = functools.partial(improvement.search, game, config=config)
    by_azo = jax.eval_shape(functools.partial(search, _evaluation(game)), key, position)
    mctx_search = functools.partial(baselines.mctx_search, game, config=config)
    by_mctx = jax.eval_shape(functools.partial(mctx_search, _evaluation(game)), key, position)
    ring = jax.eval_shape(functools.partial(replay.empty_buffer, game, 1))
    history = jax.eval_shape(functools.partial(trajectories.empty_history, game, 1))
    counters = num_bytes((ring.next_row, ring.size, ring.window_starts))
    return [
        num_bytes(position),
        num_bytes(by_azo.tree) / (simulations + 1),
        num_bytes(by_mctx.search_tree) / (simulations + 1),
        num_bytes(history) / game.max_plies - 1,
        num_bytes(ring) - counters,
        num_bytes(history),
    ]


def pgx_bytes(simulations: int) -> list[float | None]:
    """Returns the same for the AlphaZero example of Pgx, None where it has no equivalent."""
    env = baselines.pgx_othello()
    key = jax.random.key(0)
    state = jax.eval_shape(jax.vmap(env.init), jax.random.split(key, 1))
    settings: dict[str, Any] = {"num_simulations": simulations}
    search = functools.partial(baselines.pgx_search, env, _evaluation_of_planes, **settings)
    play = functools.partial(
        baselines.pgx_play, env, _evaluation_of_planes, num_plies=1, **settings
    )
    plies = jax.eval_shape(play, key, state)[1]
    # One example: observation, policy, value, and whether the value is valid.
    sample = (plies.observation, plies.policy, plies.reward, plies.is_over)
    return [
        num_bytes(state),
        num_bytes(jax.eval_shape(search, key, state).search_tree) / (simulations + 1),
        None,
        num_bytes(plies),
        num_bytes(sample),
        None,
    ]


def num_bytes(arrays: Any) -> int:
    """Returns the bytes of arrays or of their shapes."""
    return sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in jax.tree.leaves(arrays))


def _evaluation(game: othello.Othello) -> improvement.Evaluate:
    return lambda key, position: _even(game.is_over(position).shape, game.num_actions)


def _evaluation_of_planes(planes: jax.Array) -> improvement.Evaluation:
    return _even(planes.shape[:1], planes.shape[1] * planes.shape[2] + 1)


def _even(shape: tuple[int, ...], num_actions: int) -> improvement.Evaluation:
    return improvement.Evaluation(
        prior_logits=jnp.zeros((*shape, num_actions)), value=jnp.zeros(shape)
    )


if __name__ == "__main__":
    sys.exit(main())
