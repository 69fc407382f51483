"""How often are the value labels in a run's replay correct?

    python -m benchmarks.labels runs/tothello/5-last-24 runs/plain --empties 12 14 16

A position above the adjudication limit has the result of its game as label. The label is correct if
both sides played well from there on. Every label is compared with the exact result of the solver.
The positions that took the solver longest can be written as OBF lines.
"""

import pathlib
import sys
from collections.abc import Sequence
from typing import Annotated

import jax
import numpy as np
import pydantic
import tyro

from azo.games import bitboard, notation, othello, registry
from azo.learning import placement
from azo.measure import accuracy
from azo.run import checkpoint, network_files
from azo.solver.host import endgame
from benchmarks import command, measure


class LabelsBenchConfig(command.Settings):
    """How often are the value labels in a run's replay correct?"""

    folders: tyro.conf.Positional[tuple[pathlib.Path, ...]]
    """Folders of Othello runs. The latest checkpoint of each is read."""
    empties: tuple[Annotated[int, pydantic.Field(ge=1, le=20)], ...] = (12, 14, 16)
    """Numbers of empty squares, one column each."""
    num_positions: pydantic.PositiveInt = 300
    """Positions of each run and number of empty squares."""
    hard: pathlib.Path | None = None
    """File for the hardest position of each run and number of empty squares; lines are added."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and returns the exit code."""
    return command.run("benchmarks.labels", LabelsBenchConfig, report, argv)


def report(config: LabelsBenchConfig) -> list[str]:
    """Solves, and returns lines of markdown."""
    rows = [
        [folder.name, *compare(config, *_load(folder), name=folder.name)]
        for folder in config.folders
    ]
    columns = ("run", *(f"{empties} empties" for empties in config.empties))
    return [
        "Share of labels with the sign of the exact result, 95 % interval, number of positions.",
        "",
        measure.markdown_table(columns, rows),
    ]


def compare(
    config: LabelsBenchConfig,
    game: othello.Othello,
    board: np.ndarray,
    label: np.ndarray,
    name: str,
) -> list[str]:
    """Returns a cell for each number of empty squares.

    Args:
      config: the settings.
      game: the rules.
      board: `[M, words]` uint32, packed positions.
      label: `[M]`, their value labels for the side to move.
      name: name of the run, for the file of hard positions.
    """
    position = jax.device_get(game.unpack(jax.numpy.asarray(board)))
    num_empties = np.asarray(game.num_empties(position))
    player, opponent = (bitboard.to_ints(discs) for discs in (position.player, position.opponent))
    solver = endgame.Solver(game.size, is_reversed=game.is_reversed)
    sign = -1 if game.is_reversed else 1
    rng = np.random.default_rng(config.seed)
    cells = []
    for empties in config.empties:
        rows = rng.permutation(np.flatnonzero(num_empties == empties))[: config.num_positions]
        solutions = [solver.solve(player[row], opponent[row]) for row in rows]
        result = [sign * np.sign(solution.score) for solution in solutions]
        is_right = np.round(label[rows]) == result
        cells.append(
            accuracy.text(accuracy.share(is_right), 3, has_count=True) if solutions else "none"
        )
        if config.hard is not None and solutions:
            hardest = max(range(len(solutions)), key=lambda i: solutions[i].num_nodes)
            row, nodes = rows[hardest], solutions[hardest].num_nodes
            problem = notation.Board(player[row], opponent[row], is_black_to_move=True)
            with config.hard.open("a", encoding="utf-8") as file:
                print(
                    f"{notation.board_text(problem, game.size)}; % {name}, {nodes} nodes", file=file
                )
    return cells


def _load(folder: pathlib.Path) -> tuple[othello.Othello, np.ndarray, np.ndarray]:
    """Returns the rules, and the packed positions and labels of the replay."""
    settings = network_files.load_settings(folder)
    game = registry.make(settings.game)
    if not isinstance(game, othello.Othello):
        raise ValueError(f"{folder}: only Othello can be solved, not {game.name}")
    like = placement.begin(game, settings, placement.make_mesh(1), seed=settings.run.seed)
    with checkpoint.Checkpoints(folder, keep=settings.run.keep_checkpoints) as checkpoints:
        ring = jax.device_get(checkpoints.restore(like).replay)
    size = int(ring.size[0])
    return game, ring.board[:size], ring.value[:size].astype(np.float32)


if __name__ == "__main__":
    sys.exit(main())
