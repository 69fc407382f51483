"""How often is what a run learns about a position right? Its replay against the solver.

    python -m benchmarks.labels runs/tothello/3-last-18 runs/tothello/4-last-24 --empties 12 14 16

Positions with more empty squares than a game is adjudicated at are labelled with the result of the
game that they were in: right if both sides played well from there on. Every label is compared with
the exact result, and the positions that took the solver longest are kept as OBF lines.
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
from azo.learning import loop
from azo.measure import exact
from azo.run import checkpoint
from azo.solver.host import endgame
from benchmarks import command, measure


class LabelsBenchConfig(command.Settings):
    """How often is what a run learns about a position right?"""

    folders: tyro.conf.Positional[tuple[pathlib.Path, ...]]
    """Of runs of Othello, each with its latest checkpoint."""
    empties: tuple[Annotated[int, pydantic.Field(ge=1, le=20)], ...] = (12, 14, 16)
    """Empty squares, one column each."""
    num_positions: pydantic.PositiveInt = 300
    """Of each run and number of empty squares."""
    hard: pathlib.Path | None = None
    """File to add the hardest position of each run and number of empty squares to."""


def main(argv: Sequence[str] | None = None) -> int:
    return command.run("benchmarks.labels", LabelsBenchConfig, report, argv)


def report(config: LabelsBenchConfig) -> list[str]:
    """Solves, and returns lines of markdown."""
    rows = [
        [folder.name, *compare(config, *_load(folder), name=folder.name)]
        for folder in config.folders
    ]
    columns = ("run", *(f"{empties} empties" for empties in config.empties))
    return [
        "Labels with the sign of the exact result, 95 % interval, of so many.",
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
      label: `[M]`, what is learned of them for the side to move.
      name: of the run, for the file of hard positions.
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
        found = [solver.solve(player[row], opponent[row]) for row in rows]
        result = [sign * np.sign(one.score) for one in found]
        is_right = np.round(label[rows]) == result
        cells.append(exact.text(exact.share(is_right), 3, has_count=True) if found else "none")
        if config.hard is not None and found:
            hardest = max(range(len(found)), key=lambda i: found[i].num_nodes)
            row, nodes = rows[hardest], found[hardest].num_nodes
            problem = notation.Board(player[row], opponent[row], is_black_to_move=True)
            with config.hard.open("a", encoding="utf-8") as file:
                print(
                    f"{notation.board_text(problem, game.size)}; % {name}, {nodes} nodes", file=file
                )
    return cells


def _load(folder: pathlib.Path) -> tuple[othello.Othello, np.ndarray, np.ndarray]:
    """Returns the rules, and the packed positions and labels of the replay."""
    settings = checkpoint.load_settings(folder)
    game = registry.make(settings.game)
    if not isinstance(game, othello.Othello):
        raise ValueError(f"{folder}: only Othello can be solved, not {game.name}")
    total = settings.run.num_iterations * settings.learner.num_steps
    like = loop.begin(game, settings, loop.make_mesh(1), seed=settings.run.seed, total_steps=total)
    with checkpoint.Checkpoints(folder, keep=settings.run.keep_checkpoints) as checkpoints:
        ring = jax.device_get(checkpoints.restore(like).replay)
    size = int(ring.size[0])
    return game, ring.board[:size], ring.value[:size].astype(np.float32)


if __name__ == "__main__":
    sys.exit(main())
