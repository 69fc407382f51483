"""Supervised data: examples from archives of games.

Errors in files or settings are ValueErrors that name the place.
"""

import pathlib
from typing import Annotated

import numpy as np
import pydantic
import tyro

from azo.formats import game_files
from azo.games import protocol, registry
from azo.learning import supervised
from azo.learning.learner import LearnerConfig
from azo.learning.network import NetworkConfig

GAME = registry.GameConfig(size=8)
"""The game of all archives."""


class SuperviseConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Supervised learning from games."""

    files: Annotated[
        tyro.conf.Positional[tuple[pathlib.Path, ...]], tyro.conf.arg(metavar="FILES")
    ] = ()
    """Archives of games."""
    start: pathlib.Path | None = None
    """Folder of a network of the same shape to start from."""
    folder: pathlib.Path = pathlib.Path("runs/supervised")
    """New folder for the best network and the metrics."""
    num_epochs: pydantic.PositiveFloat = 10.0
    """Passes over all examples."""
    evaluations_per_epoch: pydantic.PositiveFloat = 1.0
    """Evaluations on the held-out games; there is always one at the end of training."""
    seed: pydantic.NonNegativeInt = 0
    """Start of all random keys."""
    examples: supervised.ExamplesConfig = supervised.ExamplesConfig()
    network: NetworkConfig = NetworkConfig()
    learner: LearnerConfig = LearnerConfig(schedule="cosine", num_steps=50)


def prepare(
    settings: SuperviseConfig, game: protocol.Game
) -> tuple[supervised.Dataset, supervised.RecordedPlies]:
    """Returns the examples to learn and the held-out plies that place a disc; prints counts."""
    if not settings.files:
        raise ValueError("FILES is missing: name archives of games, such as games.wtb")
    games = game_files.read_archives(list(settings.files))
    plies = supervised.plies_of(game, games.action, games.black_value)
    is_held_out = supervised.is_held_out(game, games.action, settings.examples.held_out)
    is_learned = ~is_held_out[plies.game]
    learned = supervised.thinned(plies.select(is_learned), settings.examples, settings.seed)
    rows, columns = game.board_shape
    held_out = plies.select(~is_learned & (plies.action < rows * columns))
    if not len(learned) or not len(held_out):
        raise ValueError(
            f"too few games: {len(learned)} positions to learn and {len(held_out)} held out, but"
            " each should be at least 1"
        )
    examples = supervised.dataset(game, learned)
    print(
        f"{len(np.unique(plies.game)):,} games, {len(plies):,} plies;"
        f" learned: {len(learned):,} plies, {examples.num_rows:,} positions;"
        f" held out: {len(np.unique(held_out.game)):,} games, {len(held_out):,} plies",
        flush=True,
    )
    return examples, held_out
