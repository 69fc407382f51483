"""Named arrays in one file of `numpy.savez_compressed`, read.

A reader says which arrays it expects; names, shapes and types are compared before one is read.
"""

import pathlib
import tokenize
import zipfile
import zlib
from typing import Any

import numpy as np

_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What NumPy raises for damaged archives.
_DAMAGE = (
    OSError, EOFError, ValueError, KeyError, TypeError, NotImplementedError, RuntimeError,
    MemoryError, SyntaxError, tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip

Expected = dict[str, tuple[tuple[int, ...], Any]]
"""Shapes and types of arrays by their names."""


def read(path: pathlib.Path, expected: Expected) -> dict[str, np.ndarray]:
    """Returns the arrays of a file.

    ValueError, one line, if the file is damaged, or has other arrays, which are not read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if any(member.compress_type not in _COMPRESSIONS for member in members):
                raise ValueError("packed in a way that numpy does not write")
            names = [member.filename.removesuffix(".npy") for member in members]
            fault = difference({name: _header(archive, name) for name in names}, expected)
            if not fault:
                return {name: _array(archive, name) for name in names}
    except _DAMAGE as error:
        fault = f"damaged: {error}"
    raise ValueError(f"{path}: {fault}")


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
