"""Folders of networks: an exported network, a run with its checkpoints, or one of them.

An exported network has the files of `exported_network`, or Orbax's folder `network/` in place of
the arrays, as earlier versions wrote it. A run's folder gives the network of its best checkpoint,
or of its latest if none was evaluated; RUN/checkpoints/ITERATION gives that of one checkpoint.
"""

import pathlib
from collections.abc import Callable
from typing import Any, Literal

import jax

from azo.formats import checksums, files
from azo.games import protocol, registry
from azo.learning import network
from azo.measure import players
from azo.run import (
    checkpoint,
    checkpoint_folder,
    config,
    exported_network,
    orbax_calls,
    origin,
    shipped_files,
)


def save(
    folder: pathlib.Path,
    variables: network.Variables,
    settings: config.Config,
    *,
    add: Callable[[pathlib.Path], None] = lambda _: None,
) -> None:
    """Writes a network, its settings and the checksums of all files into a new or empty folder.

    Args:
      folder: complete when this returns; an error leaves nothing.
      variables: the network.
      settings: of its run.
      add: writes further files into the folder.

    Raises:
      ValueError: One line: the folder is not new or empty, or cannot be written.
    """
    settings = settings.model_copy(update={"origin": origin_of(settings)})
    with files.new_folder(folder) as partial:
        exported_network.write_arrays(partial, variables)
        files.write(partial / exported_network.SETTINGS, config.to_json(settings).encode())
        add(partial)
        checksums.write(partial)


def load(
    folder: pathlib.Path, *, is_latest: bool = False
) -> tuple[network.Variables, config.Config]:
    """Returns a network, on the default device, and the settings that it was trained with.

    Args:
      folder: an exported network's, a run's or a checkpoint's.
      is_latest: take the latest checkpoint of a run, not the best.

    Raises:
      ValueError: The folder is missing, is neither, or its run has no checkpoint yet; or the arrays
        are not those of a network with its settings, or not finite.
    """
    place, settings = _find(folder, is_latest)
    return _load_arrays(place, settings), settings


def load_settings(folder: pathlib.Path) -> config.Config:
    """Returns the settings that `load` would, without reading the network."""
    return _find(folder)[1]


def origin_of(settings: config.Config) -> origin.Origin:
    """Returns the origin of the network of a run, from its settings.

    Settings without a record are those of an earlier version. They are unknown if the run began
    with another network or had a teacher, or if `azo supervise` may have written them: it left all
    sections but these at their defaults.
    """
    if settings.origin is not None:
        return settings.origin
    sections = {name: getattr(settings, name) for name in ("game", "search", "network", "learner")}
    run = config.RunConfig(folder=settings.run.folder, seed=settings.run.seed)
    names = [str(name) for name in (settings.run.start_from, settings.selfplay.teacher) if name]
    if settings == config.Config(**sections, run=run):
        names.append(str(settings.run.folder))
    return tuple(origin.Source(kind="unknown", name=name) for name in names)


def origin_from(
    kind: Literal["network", "teacher"], folder: str | pathlib.Path | None
) -> origin.Origin:
    """Returns what a network that learns from another one inherits; nothing without a folder."""
    if folder is None:
        return ()
    before = origin_of(load_settings(pathlib.Path(folder)))
    return (origin.Source(kind=kind, name=str(folder)), *before)


def with_origin(settings: config.Config, checkpoints: checkpoint.Checkpoints) -> config.Config:
    """Returns settings with the origin that a run has recorded, or with that of a new run."""
    recorded = checkpoints.settings().origin if checkpoints.latest_step() else None
    if recorded is None:
        start = origin_from("network", settings.run.start_from)
        recorded = (*start, *origin_from("teacher", settings.selfplay.teacher))
    return settings.model_copy(update={"origin": recorded})


def load_trained(folder: pathlib.Path, game: protocol.Game) -> players.NetworkPlayer:
    """Returns the player of a network; raises ValueError if it was trained for another game."""
    variables, settings = load(folder)
    trained_for = registry.make(settings.game)
    if trained_for != game:
        raise ValueError(f"{folder}: a network for {trained_for.name}, not for {game.name}")
    return players.NetworkPlayer(variables, game, settings.network, settings.search)


def loader(game: protocol.Game) -> players.Load:
    """Returns the function that loads networks for players of a game."""

    def load_path(path: str) -> players.NetworkPlayer:
        if not shipped_files.find_network(pathlib.Path(path)).is_dir():
            there = ", ".join(shipped_files.networks())
            raise FileNotFoundError(f"no such folder; networks that come with azo: {there}")
        return load_trained(pathlib.Path(path), game)

    return load_path


def load_setting(
    name: str, folder: str | pathlib.Path | None, load: players.Load
) -> players.NetworkPlayer | None:
    """Returns the network that a setting names by its folder, None without one.

    Raises:
      ValueError: One line: there is no such network, or it is for another game.
    """
    if folder is None:
        return None
    try:
        return load(str(folder))
    except OSError as error:
        raise ValueError(f"{name}: there is no network at {str(folder)!r} ({error})") from None


def load_start(
    settings: config.Config, game: protocol.Game
) -> tuple[network.Variables | None, str | None]:
    """Returns the network that a run begins with, and a line to print; both None by default.

    The line is for a network that was trained on a board of another size, which hands on the layers
    that fit.

    Raises:
      ValueError: One line: there is no such network, it has another shape, or it is for another
        game.
    """
    name, folder = "run.start_from", settings.run.start_from
    source = game
    learned = folder and game_of(str(folder))
    if learned and learned.model_copy(update={"size": settings.game.size}) == settings.game:
        source = registry.make(learned)
    start = load_setting(name, folder, loader(source))
    if start is None:
        return None, None
    variables = network.with_stages(start.variables, start.network_config, settings.network)
    if variables is None:
        raise ValueError(f"{name} {folder} holds a network of another shape than [network]")
    if source == game:
        return variables, None
    carried, others = network.carry_over(settings.network, variables, source, game)
    fresh = ", ".join(sorted(others)) or "none"
    return carried, f"{name} {folder}: from {source.name} to {game.name}, fresh layers: {fresh}"


def folder_of(player: str) -> pathlib.Path | None:
    """Returns the folder of the network that a player's name contains, None without a network."""
    name = player.removeprefix("network:").removeprefix("policy:")
    for path in map(pathlib.Path, (name, name.rpartition(":")[0])):
        if path != pathlib.Path() and shipped_files.find_network(path).is_dir():
            return shipped_files.find_network(path)
    return None


def game_of(player: str) -> registry.GameConfig | None:
    """Returns the game of the network that a player's name contains, None without a network."""
    folder = folder_of(player)
    return None if folder is None else load_settings(folder).game


def _find(folder: pathlib.Path, is_latest: bool = False) -> tuple[pathlib.Path, config.Config]:
    """Returns the place of the network in a folder, and its settings."""
    folder = shipped_files.find_network(folder)
    if not folder.is_dir():
        shipped = ", ".join(shipped_files.networks())
        raise ValueError(
            f"{folder}: no such folder; give that of a run or an exported network, or a shipped"
            f" network: {shipped}"
        )
    settings_file = folder / exported_network.SETTINGS
    for place in (folder / exported_network.ARRAYS, folder / checkpoint_folder.NETWORK):
        if place.exists() and settings_file.is_file():
            checksums.verify(folder, [exported_network.SETTINGS, checkpoint_folder.NETWORK])
            text = files.read_text(settings_file)
            return place, config.from_json(text, str(settings_file))
    parts = (checkpoint_folder.NETWORK, checkpoint_folder.SETTINGS)
    if folder.parent.name == checkpoint_folder.CHECKPOINTS and folder.name.isdecimal():
        checksums.verify(folder, parts)
        settings = checkpoint.read_settings(folder.parent.parent, int(folder.name))
        return folder / checkpoint_folder.NETWORK, settings
    on_disk = checkpoint_folder.CheckpointFolder(folder)
    if not on_disk.path.is_dir():
        raise ValueError(
            f"{folder}: neither a run nor an exported network: no {on_disk.path.name}/"
        )
    step, _ = on_disk.find_sound(parts, first=None if is_latest else on_disk.best_step())
    if step is None:
        raise ValueError(f"{folder}: the run has no checkpoint yet")
    settings = checkpoint.read_settings(folder, step)
    return on_disk.checkpoint(step) / checkpoint_folder.NETWORK, settings


def _load_arrays(place: pathlib.Path, settings: config.Config) -> Any:
    """Returns nested dictionaries of arrays on the default device."""
    shapes = network.shapes(registry.make(settings.game), settings.network)
    expected = {name: leaf.shape for name, leaf in _named(shapes)}
    if place.name == exported_network.ARRAYS:
        arrays = exported_network.read_arrays(place.parent, expected)
        return jax.device_put(arrays, jax.local_devices()[0])
    saved = orbax_calls.metadata(place)
    found = [(name, (tuple(leaf.shape), leaf.dtype)) for name, leaf in _named(saved)]
    exported_network.check_arrays(place, found, expected)
    arrays = orbax_calls.restore(place, saved)
    exported_network.check_finite(place, dict(_named(jax.device_get(arrays))))
    return arrays


def _named(tree: Any) -> list[tuple[str, Any]]:
    """Returns the leaves of nested dictionaries, each with its keys joined by slashes."""
    return [
        (jax.tree_util.keystr(path, simple=True, separator="/"), leaf)
        for path, leaf in jax.tree.leaves_with_path(tree)
    ]
