"""Files that come with azo: settings files and networks, in a clone and in an installed wheel."""

import importlib.metadata
import pathlib

from azo.run import validation

_PACKAGE = pathlib.Path(__file__).resolve().parents[1]
_CONFIGS_OF_WHEEL = _PACKAGE / "configs"
CONFIGS = _CONFIGS_OF_WHEEL if _CONFIGS_OF_WHEEL.exists() else _PACKAGE.parent / "configs"
NETWORKS = _PACKAGE / "play" / "networks"
# The shipped network that plays by default, for each game that has one (see docs/models.md).
STRONGEST = {"othello6": "zero-fast6", "othello8": "zero-fast"}


def find_network(path: pathlib.Path) -> pathlib.Path:
    """Returns the folder of a network: the path itself, or that of a shipped one by its name."""
    is_shipped = len(path.parts) == 1 and not path.is_dir() and (NETWORKS / path).is_dir()
    return NETWORKS / path if is_shipped else path


def networks() -> tuple[str, ...]:
    """Returns the names of the shipped networks, such as "zero-fast"."""
    return tuple(sorted(path.name for path in NETWORKS.iterdir() if path.is_dir()))


def find_config(
    path: pathlib.Path,
    what: str = "settings",
    folder: str = ".",
    beside: pathlib.Path = pathlib.Path(),
) -> pathlib.Path:
    """Returns the path of a TOML file; the name of a shipped file is enough.

    Args:
      path: the path or the name of a file, such as `champions/zero-fast`, with or without `.toml`.
      what: the kind of file in messages, such as "queue".
      folder: the folder in `CONFIGS` that holds files of this kind.
      beside: the folder from which a relative path leads to the file.

    Raises:
      ValueError: One line; there is no such file.
    """
    for place in (beside, CONFIGS / folder):
        for name in (path, path.with_name(f"{path.name}.toml")):
            if (place / name).is_file():
                return place / name
    if (beside / path).exists():  # a folder, which cannot be read as a file
        return beside / path
    places = [_stems(CONFIGS / folder)]
    if folder == ".":
        places[0] |= _stems(CONFIGS / "champions", "champions/")
    if len(path.parts) > 1:
        places.insert(0, _stems(CONFIGS / folder / path.parent, f"{path.parent.as_posix()}/"))
        places.insert(0, _stems(beside / path.parent))
    names = next(filter(None, places))
    hint = validation.suggest(path.stem, names, texts=names)
    raise ValueError(f"{path}: no such {what} file. {hint}")


def _stems(folder: pathlib.Path, prefix: str = "") -> dict[str, str]:
    """Returns the names of the TOML files of a folder by their stems."""
    return {file.stem: prefix + file.stem for file in sorted(folder.glob("*.toml"))}


def version(package: str = "azo") -> str:
    """Returns the version of a package, or `(source)` if it runs without an installation."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "(source)"
