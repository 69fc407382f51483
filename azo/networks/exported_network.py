"""The files of a network, read and written without JAX: settings and arrays.

A folder with these files is an exported network or a checkpoint of a run. A reader of arrays says
which it expects; names, shapes and types are compared before one is read.
"""

import errno
import json
import math
import pathlib
import sys
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pydantic

from azo.games import game_config, plurals
from azo.networks import network_config
from azo.networks.origin import Origin
from azo.settings import validation
from azo.storage import files

SETTINGS = "settings.json"
ARRAYS = "network.npz"
_MAX_BYTES = 2**30  # of all arrays
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# Arrays of many rows are two members: their distinct rows, and the number `[...]` of each row.
_ROWS, _NUMBERS = ".rows", ".numbers"
_MANY_ROWS = 4096
# What NumPy raises for damaged archives.
_DAMAGE = (
    OSError, EOFError, ValueError, KeyError, IndexError, TypeError, NotImplementedError,
    RuntimeError, MemoryError, SyntaxError, tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip

_unverified: set[pathlib.Path] = set()  # folders without checksums, which have been named

Expected = dict[str, tuple[tuple[int, ...], Any]]
"""Shapes and types of arrays by their names."""


class NetworkSettings(pydantic.BaseModel, frozen=True):
    """The settings of a run that describe its network; the others are only kept."""

    game: game_config.GameConfig
    network: network_config.NetworkConfig
    origin: Origin | None = None
    """What the network learned from; None if its run has no record."""
    others: dict[str, Any] = {}
    """All other sections, as the file has them."""

    @classmethod
    def from_run(cls, settings: pydantic.BaseModel) -> Self:
        """Returns the settings of a network from all settings of its run."""
        return cls.from_tree(settings.model_dump(mode="json"), None)

    @classmethod
    def from_tree(cls, tree: Any, place: str | None) -> Self:
        """Returns settings from nested dictionaries; messages name the file `place`.

        Settings of other versions in the sections that are read are ignored. One that is missing
        has the default of the versions that wrote no such setting.
        """
        if isinstance(tree, dict):
            others = {name: one for name, one in tree.items() if name not in cls.model_fields}
            tree = {name: one for name, one in tree.items() if name in cls.model_fields}
            tree["others"] = others
            tree = validation.with_former_defaults(cls, validation.with_current_names(cls, tree))
        return validation.validate(cls, tree, place, ignores_unknown=True)

    def to_json(self) -> str:
        """Returns all settings of the run, those that are only kept too, as indented JSON."""
        tree = self.model_dump(mode="json", exclude={"others"})
        return json.dumps(tree | self.others, indent=2, ensure_ascii=False) + "\n"


def write(folder: pathlib.Path, arrays: Mapping[str, Any], settings: str) -> None:
    """Writes a network: arrays by their names, and the settings of its run as JSON.

    The folder is one that `files.new_folder` has made.
    """
    members: dict[str, Any] = {}
    for name, array in arrays.items():
        members |= _members(name, np.asarray(array))
    np.savez_compressed(folder / ARRAYS, **members)
    files.write(folder / SETTINGS, settings.encode(), inside=folder)


def _members(name: str, array: np.ndarray) -> dict[str, np.ndarray]:
    """Returns the members that store an array.

    Tables of patterns have rows for contents that never occur, which are all 0, and for mirrored
    contents, whose features are equal. In order, equal rows are stored once, and similar ones are
    near each other, as the compression needs.
    """
    if array.ndim < 2 or math.prod(array.shape[:-1]) < _MANY_ROWS:
        return {name: array}
    rows = np.ascontiguousarray(array).reshape(-1, array.shape[-1])
    distinct, numbers = np.unique(
        rows.view(np.dtype((np.void, rows[0].nbytes))), return_inverse=True
    )
    distinct = distinct.view(array.dtype).reshape(-1, array.shape[-1])
    numbers = numbers.reshape(array.shape[:-1]).astype(np.int32)
    return {name + _ROWS: distinct, name + _NUMBERS: numbers}


def is_in(folder: pathlib.Path) -> bool:
    """Returns whether a folder has the files of a network."""
    return (folder / ARRAYS).is_file() and (folder / SETTINGS).is_file()


def settings_text(folder: pathlib.Path) -> str:
    """Returns the verified settings as JSON; raises ValueError, one line, if damaged."""
    _verify(folder, SETTINGS)
    return files.read_text(folder / SETTINGS)


def _verify(folder: pathlib.Path, file: str) -> None:
    """Verifies a file; ValueError, one line, if damaged. Says so once if there are no checksums."""
    if not files.verify_checksums(folder, [file]) and folder not in _unverified:
        _unverified.add(folder)
        line = f"{folder}: no {files.CHECKSUMS}: azo cannot detect damage or changes"
        print(files.one_line(line), file=sys.stderr, flush=True)


def read_settings(folder: pathlib.Path) -> NetworkSettings | None:
    """Returns what a network is for, or None if the folder is not one of these."""
    if not is_in(folder):
        return None
    place = str(folder / SETTINGS)
    return NetworkSettings.from_tree(files.parse_json(settings_text(folder), place), place)


def read_arrays(folder: pathlib.Path, expected: Mapping[str, tuple[int, ...]]) -> dict[str, Any]:
    """Returns the arrays of a network as nested dictionaries.

    `expected` has the shapes of all arrays, float32, by their names: keys joined by slashes.
    ValueError, one line, if the file is damaged, or has other arrays, which are not read; or if an
    entry is not finite.
    """
    file = folder / ARRAYS
    total = 4 * sum(math.prod(shape) for shape in expected.values())
    if total > _MAX_BYTES:
        raise ValueError(
            f"{file}: a network of {total / 2**30:,.1f} GiB by its settings; at most"
            f" {_MAX_BYTES >> 30} GiB are read"
        )
    _verify(folder, ARRAYS)
    types = {name: (shape, np.dtype(np.float32)) for name, shape in expected.items()}
    tree: dict[str, Any] = {}
    for name, array in read_archive(file, types).items():
        if not np.isfinite(array).all():
            count = int((~np.isfinite(array)).sum())
            entries = plurals.counted(count, "entry", "entries", ",")
            verb = "is" if count == 1 else "are"
            raise ValueError(f"{file}: {entries} of array {name!r} {verb} infinite or NaN")
        *sections, last = name.split("/")
        place = tree
        for section in sections:
            place = place.setdefault(section, {})
        place[last] = array
    return tree


def difference(found: Expected, expected: Expected) -> str:
    """Returns the first difference between arrays in words, "" if there is none."""
    for name in found | expected:
        if name not in expected:
            return f"array {name!r} does not belong to the settings"
        if name not in found:
            return f"no array {name!r}"
        if found[name] != expected[name]:
            (shape, dtype), (needed, type_needed) = found[name], expected[name]
            return (
                f"array {name!r} is {dtype} of shape {list(shape)}, but by the settings"
                f" {type_needed} of shape {list(needed)}"
            )
    return ""


def read_archive(path: pathlib.Path, expected: Expected) -> dict[str, np.ndarray]:
    """Returns the arrays of an archive, if they are all and only those that are expected.

    ValueError, one line, if the file is damaged or has other arrays, which are not read.
    """
    try:
        with files.open_to_read(path) as file, zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            if any(member.compress_type not in _COMPRESSIONS for member in members):
                raise ValueError("packed in a way that numpy does not write")
            names = [member.filename.removesuffix(".npy") for member in members]
            arrays = _arrays({name: _header(archive, name) for name in names})
            fault = difference(arrays, expected)
            if not fault:
                return {name: _read_array(archive, name, name not in names) for name in arrays}
    except files.Unreadable:
        raise
    except _DAMAGE as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise files.Unreadable(path, error) from None  # EINVAL: a place before the file
        fault = f"damaged: {error}"
    raise ValueError(f"{path}: {fault}")


def _arrays(members: Expected) -> Expected:
    """Returns shapes and types of arrays from those of the members that store them."""
    arrays = dict(members)
    for name in members:
        array = name.removesuffix(_NUMBERS)
        if array != name and array + _ROWS in arrays:
            numbers, type_of_numbers = arrays[name]
            rows, dtype = arrays[array + _ROWS]
            if type_of_numbers == np.int32 and len(rows) == 2 and rows[0] <= math.prod(numbers):
                del arrays[name], arrays[array + _ROWS]
                arrays[array] = ((*numbers, rows[1]), dtype)
    return arrays


def _read_array(archive: zipfile.ZipFile, name: str, is_by_rows: bool) -> np.ndarray:
    if is_by_rows:
        rows, numbers = (_read_array(archive, name + part, False) for part in (_ROWS, _NUMBERS))
        return rows.take(numbers, axis=0)
    return np.lib.format.read_array(archive.open(f"{name}.npy"))


def _header(archive: zipfile.ZipFile, name: str) -> tuple[tuple[int, ...], Any]:
    """Returns shape and type of an array, without reading it."""
    with archive.open(f"{name}.npy") as member:
        if np.lib.format.read_magic(member) != (1, 0):  # others allow headers of 4 GiB
            raise ValueError(f"array {name!r} has an unknown format")
        shape, _, dtype = np.lib.format.read_array_header_1_0(member)
        return shape, dtype
