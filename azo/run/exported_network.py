"""The files of an exported network, read and written without JAX: settings and arrays."""

import math
import pathlib
import tokenize
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pydantic

from azo.formats import checksums, files
from azo.games import game_config
from azo.learning import network_config
from azo.run import validation

SETTINGS = "settings.json"
ARRAYS = "network.npz"
_MAX_BYTES = 2**30  # of all arrays
# What NumPy raises for damaged archives.
_DAMAGE = (
    OSError, EOFError, ValueError, KeyError, TypeError, NotImplementedError, RuntimeError,
    MemoryError, SyntaxError, tokenize.TokenError, zipfile.BadZipFile, zlib.error,
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
    tree = files.parse_json(files.read_text(file), file)
    return validation.validate(NetworkSettings, tree, str(file))


def write_arrays(folder: pathlib.Path, tree: dict[str, Any]) -> None:
    """Writes nested dictionaries of arrays; the name of an array joins its keys with slashes."""
    np.savez_compressed(folder / ARRAYS, **_flat(tree))


def read_arrays(folder: pathlib.Path, expected: Mapping[str, tuple[int, ...]]) -> dict[str, Any]:
    """Returns the nested dictionaries that `write_arrays` wrote.

    Args:
      folder: of the network.
      expected: shapes of all arrays of a network with these settings, by their names.

    Raises:
      ValueError: One line: the file is damaged, or has other arrays, which are not read; or an
        entry is not finite.
    """
    file = folder / ARRAYS
    checksums.verify(folder, [ARRAYS])
    try:
        with zipfile.ZipFile(file) as archive:
            names = [info.filename.removesuffix(".npy") for info in archive.infolist()]
            headers = ((name, _header(archive, name)) for name in names)
            check_arrays(file, headers, expected)
            arrays = {name: _array(archive, name) for name in names}
    except _DAMAGE as error:
        if str(error).startswith(str(file)):  # of `check_arrays`
            raise
        raise ValueError(f"{file}: damaged: {error}") from None
    check_finite(file, arrays)
    tree: dict[str, Any] = {}
    for name, array in arrays.items():
        *sections, last = name.split("/")
        place = tree
        for section in sections:
            place = place.setdefault(section, {})
        place[last] = array
    return tree


def check_arrays(
    place: pathlib.Path,
    found: Iterable[tuple[str, tuple[tuple[int, ...], Any]]],
    expected: Mapping[str, tuple[int, ...]],
) -> None:
    """Compares the arrays of a file with those that its settings ask for.

    Args:
      place: the file, for messages.
      found: shape and type of each array, with its name.
      expected: shapes of all arrays, by their names; float32.

    Raises:
      ValueError: One line: an array is missing, additional, or has another shape or type.
    """
    total = 4 * sum(math.prod(shape) for shape in expected.values())
    if total > _MAX_BYTES:
        raise ValueError(
            f"{place}: a network of {total / 2**30:,.1f} GiB by its settings; at most"
            f" {_MAX_BYTES >> 30} GiB are read"
        )
    missing = set(expected)
    for name, (shape, dtype) in found:
        if name not in missing:
            raise ValueError(
                f"{place}: array {name!r} does not belong to a network of its settings"
            )
        missing.remove(name)
        if shape != expected[name] or dtype != np.float32:
            raise ValueError(
                f"{place}: array {name!r} is {dtype} of shape {list(shape)}, but by its settings"
                f" float32 of shape {list(expected[name])}"
            )
    if missing:
        raise ValueError(f"{place}: no array {min(missing)!r}")


def check_finite(place: pathlib.Path, arrays: Mapping[str, Any]) -> None:
    """Raises ValueError with one line if an entry of an array is infinite or NaN."""
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            count = int((~np.isfinite(array)).sum())
            raise ValueError(f"{place}: {count:,} entries of array {name!r} are infinite or NaN")


def _header(archive: zipfile.ZipFile, name: str) -> tuple[tuple[int, ...], Any]:
    """Returns shape and type of an array, without reading it."""
    with archive.open(f"{name}.npy") as member:
        if np.lib.format.read_magic(member) != (1, 0):  # others allow headers of 4 GiB
            raise ValueError(f"array {name!r} has an unknown format")
        shape, _, dtype = np.lib.format.read_array_header_1_0(member)
        return shape, dtype


def _array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    with archive.open(f"{name}.npy") as member:
        return np.lib.format.read_array(member, allow_pickle=False)


def _flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    for name, value in tree.items():
        path = prefix + name
        arrays |= _flat(value, f"{path}/") if isinstance(value, dict) else {path: np.asarray(value)}
    return arrays
