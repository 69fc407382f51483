"""The files of an exported network, read and written without JAX: settings and arrays."""

import json
import pathlib
import zipfile
import zlib
from typing import Any

import numpy as np
import pydantic

from azo.formats import checksums, files
from azo.games import game_config
from azo.learning import network_config
from azo.run import validation

SETTINGS = "settings.json"
ARRAYS = "network.npz"
# What NumPy raises for damaged archives.
_DAMAGE = (
    OSError, EOFError, ValueError, KeyError, TypeError, NotImplementedError, RuntimeError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip


class NetworkSettings(pydantic.BaseModel, frozen=True):
    """The settings of a run that describe its network; the others are not read."""

    game: game_config.GameConfig
    network: network_config.NetworkConfig


def read_settings(folder: pathlib.Path) -> NetworkSettings | None:
    """Returns what a network is for, or None if the folder is not one of these."""
    file = folder / SETTINGS
    if not (folder / ARRAYS).is_file() or not file.is_file():
        return None
    checksums.verify(folder, [SETTINGS])
    try:
        tree = json.loads(files.read_text(file))
    except (json.JSONDecodeError, RecursionError):
        raise ValueError(f"{file}: not the settings of a network") from None
    return validation.validate(NetworkSettings, tree, str(file))


def write_arrays(folder: pathlib.Path, tree: dict[str, Any]) -> None:
    """Writes nested dictionaries of arrays; the name of an array joins its keys with slashes."""
    np.savez_compressed(folder / ARRAYS, **_flat(tree))


def read_arrays(folder: pathlib.Path) -> dict[str, Any]:
    """Returns the nested dictionaries that `write_arrays` wrote; raises ValueError if damaged."""
    checksums.verify(folder, [ARRAYS])
    tree: dict[str, Any] = {}
    try:
        with (folder / ARRAYS).open("rb") as file, np.load(file) as arrays:
            for name in arrays:
                *sections, last = name.split("/")
                place = tree
                for section in sections:
                    place = place.setdefault(section, {})
                place[last] = arrays[name]
    except _DAMAGE as error:
        raise ValueError(f"{folder / ARRAYS}: damaged: {error}") from None
    return tree


def _flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    for name, value in tree.items():
        path = prefix + name
        arrays |= _flat(value, f"{path}/") if isinstance(value, dict) else {path: np.asarray(value)}
    return arrays
