"""Positions that runs keep in the replays of their checkpoints, with the targets of their searches.

The replays of one run overlap. A position belongs to the first kept checkpoint after the iteration
in which it was played, so that none is read twice; games that this checkpoint found unfinished are
left out.
"""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np

from azo.formats import checksums
from azo.games import protocol, registry
from azo.learning import supervised
from azo.run import checkpoint_folder, network_files, orbax_calls

_COLUMNS = ("board", "policy", "value", "score", "iteration")


def read(run: pathlib.Path, game: protocol.Game) -> dict[str, np.ndarray]:
    """Returns the positions of a run in the order of its checkpoints.

    Args:
      run: its folder.
      game: what it should have learned.

    Returns:
      The columns `board`, `policy`, `value`, `score` and `iteration` of `replay.Rows`.

    Raises:
      ValueError: One line: the folder is not that of a run, the run is of another game, or a
        checkpoint is damaged.
    """
    trained_for = registry.make(network_files.load_settings(run).game)
    if trained_for != game:
        raise ValueError(f"{run}: a run of {trained_for.name}, not of {game.name}")
    on_disk = checkpoint_folder.CheckpointFolder(run)
    if not on_disk.path.is_dir():
        raise ValueError(f"{run}: a network without the positions of its run: name the run")
    parts, last = [], -1
    for step in on_disk.steps():
        rows = _rows(on_disk.checkpoint(step))
        is_new = rows["iteration"] > last
        parts.append({name: rows[name][is_new] for name in _COLUMNS})
        last = int(rows["iteration"].max(initial=last))
    return {name: np.concatenate([part[name] for part in parts]) for name in _COLUMNS}


def dataset(
    positions: dict[str, np.ndarray], share: float
) -> tuple[supervised.Dataset, supervised.RecordedPlies]:
    """Returns the positions to learn from, and those of about a share of the iterations."""
    is_held_out = positions["iteration"] % max(2, round(1 / share)) == 0
    learned, held_out = (
        {name: column[rows] for name, column in positions.items()}
        for rows in (~is_held_out, is_held_out)
    )
    iteration = held_out.pop("iteration")
    del learned["iteration"]
    plies = supervised.RecordedPlies(
        **held_out,
        action=held_out["policy"].argmax(axis=1).astype(np.int32),
        ply=np.zeros_like(iteration),
        game=iteration,
    )
    return supervised.Dataset(**jax.tree.map(jnp.asarray, learned)), plies


def _rows(place: pathlib.Path) -> dict[str, np.ndarray]:
    """Returns the used rows of the rings of a checkpoint."""
    checksums.verify(place, [checkpoint_folder.STATE])
    folder = place / checkpoint_folder.STATE
    buffer = orbax_calls.restore(folder, orbax_calls.metadata(folder))["replay"]
    columns = {name: np.asarray(buffer[name]) for name in _COLUMNS}
    sizes = np.asarray(buffer["size"])
    capacity = len(columns["value"]) // len(sizes)  # of each ring
    is_used = (np.arange(capacity) < sizes[:, None]).reshape(-1)
    return {name: column[is_used] for name, column in columns.items()}
