"""Folders of networks: an exported network, a run with its checkpoints, or one of them.

A run's folder gives the network of its best checkpoint, or of its latest if none was evaluated;
RUN/checkpoints/ITERATION gives that of one checkpoint.
"""

import dataclasses
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import jax
import pydantic

from azo.games import game_config, protocol, registry
from azo.networks import checkpoint_folder, exported_network, network, origin
from azo.process import program_cache
from azo.search import evaluations
from azo.search.settings import SearchConfig
from azo.settings import import_paths, shipped_files
from azo.storage import files


class TrainedSettings(exported_network.NetworkSettings, frozen=True):
    """The settings of a network, and those of the search that its players use."""

    search: SearchConfig = SearchConfig()


def save(
    folder: pathlib.Path,
    variables: network.Variables,
    settings: pydantic.BaseModel,
    others: Mapping[str, bytes] | None = None,
    *,
    inside: pathlib.Path | None = None,
) -> None:
    """Writes a network, its settings and the checksums of all files into a new or empty folder.

    The folder is complete when this returns; an error leaves nothing. `settings` are those that
    `load` has returned, or all of a run. `others` are the contents of further files by their paths.
    `inside` is the folder of azo that the new one is in, if any.
    """
    if not isinstance(settings, exported_network.NetworkSettings):
        settings = exported_network.NetworkSettings.from_run(settings)
    settings = settings.model_copy(update={"origin": origin_of(settings)})
    with files.new_folder(folder, inside) as partial:
        exported_network.write(partial, named(variables), settings.to_json())
        for name, content in (others or {}).items():
            files.write(partial / name, content, inside=partial, makes_folder=True)
        files.write_checksums(partial)


def load(
    folder: pathlib.Path, game: protocol.Game | None = None, *, is_latest: bool = False
) -> tuple[network.Variables, TrainedSettings]:
    """Returns a network, on the default device, and the settings that it was trained with.

    The folder is an exported network's, a run's or a checkpoint's. Of a run it is the network of
    the best checkpoint, or of the latest one. ValueError says in one line what is wrong, also if it
    was trained for another `game`.
    """
    program_cache.enable()
    place, settings = _find(folder, is_latest)
    trained_for = registry.make(settings.game)
    shapes = network.shapes(trained_for, settings.network)
    expected = {name: leaf.shape for name, leaf in named(shapes).items()}
    arrays = exported_network.read_arrays(place, expected)
    if game is not None and game != trained_for:
        raise ValueError(f"{folder}: a network for {trained_for.name}, not for {game.name}")
    return jax.device_put(arrays, jax.local_devices()[0]), settings


@dataclasses.dataclass(frozen=True)
class TrainedNetwork:
    """A trained network, its game and its settings."""

    game: protocol.Game  # the game that it was trained for
    evaluate: evaluations.Evaluate  # compiled: (key, positions [B]) to an Evaluation
    variables: network.Variables  # on the default device, as flax stores them
    settings: TrainedSettings  # `game`, `network`, `search`, `origin`, ...

    def __repr__(self) -> str:
        number = sum(x.size for x in jax.tree.leaves(self.variables))
        kind = self.settings.network.kind
        return f"<TrainedNetwork for {self.game.name}: {kind}, {number:,} weights>"


def load_network(
    folder: str | os.PathLike[str] = "zero-fast",
    *,
    symmetry: network.Symmetry = "none",
    is_latest: bool = False,
    allow_imports: Sequence[str] = (),
) -> TrainedNetwork:
    """Returns a network from a folder, for programs.

        network = azo.load_network("runs/azo8")
        network.evaluate(jax.random.key(0), network.game.start(1)).value

    `evaluate` returns an `Evaluation` for `B` positions, each seen by the side to move: logits
    `[B, A]` float32 of all actions, illegal ones included, and the expected result `[B]` float32 in
    [-1, 1]. `search_moves` takes it as its evaluator.

    Args:
      folder: of a run, of a checkpoint or of an exported network; or the name of a network that
        comes with azo. For a run, the checkpoint with the best score in a match is taken, or the
        latest one if there was no match.
      is_latest: for a run, take the latest checkpoint. Any other one is given by its folder,
        `runs/azo8/checkpoints/ITERATION`.
      symmetry: evaluate a position unchanged, under a random symmetry of the board, or averaged
        over all symmetries, which takes 8 times as long.
      allow_imports: import paths of games and networks, such as "my_networks:Dense", that the files
        may name. Their modules are imported, so allow only code that you trust.

    Raises:
      ValueError: One line: there is no such network, its files are damaged, or they name code that
        is not allowed.
    """
    import_paths.allow(allow_imports)
    variables, settings = load(pathlib.Path(folder), is_latest=is_latest)
    game = registry.make(settings.game)
    evaluate = network.folded_evaluator(game, settings.network, variables, symmetry=symmetry)
    return TrainedNetwork(game, jax.jit(evaluate), variables, settings)


def load_settings(folder: pathlib.Path) -> TrainedSettings:
    """Returns the settings that `load` would, without reading the network."""
    return _find(folder)[1]


def named(tree: Any) -> dict[str, Any]:
    """Returns the leaves of variables or of a state by their names, such as `replay/size`."""
    leaves = jax.tree.leaves_with_path(tree)
    return {jax.tree_util.keystr(path, simple=True, separator="/"): x for path, x in leaves}


def origin_of(settings: exported_network.NetworkSettings) -> origin.Origin:
    """Returns the origin of a network, unknown if its settings have no record."""
    if settings.origin is None:
        run = settings.others.get("run")
        name = run.get("folder", "") if isinstance(run, dict) else ""
        return (origin.Source(kind="unknown", name=str(name)),)
    return settings.origin


def origin_from(
    kind: Literal["network", "teacher"], folder: str | pathlib.Path | None
) -> origin.Origin:
    """Returns what a network that learns from another one inherits; nothing without a folder."""
    if folder is None:
        return ()
    before = origin_of(load_settings(pathlib.Path(folder)))
    return (origin.Source(kind=kind, name=str(folder)), *before)


def load_setting(
    name: str, folder: str | pathlib.Path | None, game: protocol.Game
) -> tuple[network.Variables, TrainedSettings] | None:
    """Returns the network that a setting names by its folder, None without one."""
    if folder is None:
        return None
    with files.located(name):
        return load(pathlib.Path(folder), game)


def game_of(player: str) -> game_config.GameConfig | None:
    """Returns the game of the network that a player's name contains, None without a network."""
    name = player.removeprefix("network:").removeprefix("policy:")
    for path in map(pathlib.Path, (name, name.rpartition(":")[0])):
        if path != pathlib.Path() and shipped_files.find_network(path).is_dir():
            return load_settings(path).game
    return None


def _find(folder: pathlib.Path, is_latest: bool = False) -> tuple[pathlib.Path, TrainedSettings]:
    """Returns the folder with the files of a network, and its settings."""
    folder = shipped_files.find_network(folder)
    if not folder.is_dir():
        shipped = ", ".join(shipped_files.networks())
        raise ValueError(
            f"{folder}: no such folder; give the folder of a run or an exported network, or the"
            f" name of a shipped network: {shipped}"
        )
    if folder.parent.name == checkpoint_folder.CHECKPOINTS and folder.name.isdecimal():
        run, step = folder.parent.parent, int(folder.name)
        checkpoint_folder.verify(run, step, checkpoint_folder.NETWORK)
    elif not exported_network.is_in(folder):
        if not (folder / checkpoint_folder.CHECKPOINTS).is_dir():
            raise ValueError(
                f"{folder}: neither a run nor an exported network: no"
                f" {checkpoint_folder.CHECKPOINTS}/"
            )
        best = None if is_latest else checkpoint_folder.best_step(folder)
        sound, _ = checkpoint_folder.find_sound(folder, checkpoint_folder.NETWORK, first=best)
        if sound is None:
            raise ValueError(f"{folder}: the run has no checkpoint yet")
        folder = checkpoint_folder.folder_of(folder, sound)
    text, place = exported_network.settings_text(folder), str(folder / exported_network.SETTINGS)
    tree = files.parse_json(text, place)
    return folder, TrainedSettings.from_tree(tree, place)
