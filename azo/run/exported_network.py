"""The files of an exported network, read and written without JAX: settings and arrays."""

import json
import pathlib
from typing import Any

import numpy as np
import pydantic

from azo.games import game_config
from azo.learning import network_config
from azo.run import validation

SETTINGS = "settings.json"
ARRAYS = "network.npz"


class NetworkSettings(pydantic.BaseModel, frozen=True):
    """The settings of a run that describe its network; the others are not read."""

    game: game_config.GameConfig
    network: network_config.NetworkConfig


def read_settings(folder: pathlib.Path) -> NetworkSettings | None:
    """Returns what a network is for, or None if the folder is not one of these."""
    file = folder / SETTINGS
    if not (folder / ARRAYS).is_file() or not file.is_file():
        return None
    tree = json.loads(file.read_text(encoding="utf-8"))
    return validation.validate(NetworkSettings, tree, str(file))


def write_arrays(folder: pathlib.Path, tree: dict[str, Any]) -> None:
    """Writes nested dictionaries of arrays; the name of an array joins its keys with slashes."""
    np.savez_compressed(folder / ARRAYS, **_flat(tree))


def read_arrays(folder: pathlib.Path) -> dict[str, Any]:
    """Returns the nested dictionaries that `write_arrays` wrote."""
    tree: dict[str, Any] = {}
    with np.load(folder / ARRAYS) as arrays:
        for name in arrays:
            *sections, last = name.split("/")
            place = tree
            for section in sections:
                place = place.setdefault(section, {})
            place[last] = arrays[name]
    return tree


def _flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    for name, value in tree.items():
        path = prefix + name
        arrays |= _flat(value, f"{path}/") if isinstance(value, dict) else {path: np.asarray(value)}
    return arrays
