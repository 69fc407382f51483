"""Files that come with azo: settings files and networks, in a clone and in an installed wheel."""

import importlib.metadata
import pathlib

from azo.run import validation

_PACKAGE = pathlib.Path(__file__).resolve().parents[1]
_CONFIGS_OF_WHEEL = _PACKAGE / "configs"
CONFIGS = _CONFIGS_OF_WHEEL if _CONFIGS_OF_WHEEL.exists() else _PACKAGE.parent / "configs"
NETWORKS = _PACKAGE / "play" / "networks"
# The shipped network that plays by default, for each game that has one (see docs/models.md).
STRONGEST = {"othello6": "othello6", "othello8": "zero-fast"}


def find_network(path: pathlib.Path) -> pathlib.Path:
    """Returns the folder of a network: the path itself, or that of a shipped one by its name."""
    is_shipped = len(path.parts) == 1 and not path.is_dir() and (NETWORKS / path).is_dir()
    return NETWORKS / path if is_shipped else path


def networks() -> tuple[str, ...]:
    """Returns the names of the shipped networks, such as "zero-fast"."""
    return tuple(sorted(path.name for path in NETWORKS.iterdir() if path.is_dir()))


def find_config(path: pathlib.Path, what: str = "settings", folder: str = ".") -> pathlib.Path:
    """Returns the path of a TOML file; the bare name of a shipped file is enough.

    Args:
      path: the path or the name of a file, with or without `.toml`.
      what: the kind of file in messages, such as "queue".
      folder: the folder in `CONFIGS` that holds files of this kind.

    Raises:
      ValueError: One line; there is no such file.
    """
    is_bare = len(path.parts) == 1
    for place in [pathlib.Path(), CONFIGS / folder] if is_bare else [pathlib.Path()]:
        for name in (path, path.with_name(f"{path.name}.toml")):
            if (place / name).is_file():
                return place / name
    if path.exists():  # a folder, which cannot be read as a file
        return path
    beside = [] if is_bare else list(path.parent.glob("*.toml"))
    names = sorted(file.stem for file in beside or (CONFIGS / folder).glob("*.toml"))
    raise ValueError(f"{path}: no such {what} file. {validation.suggest(path.stem, names)}")


def version(package: str = "azo") -> str:
    """Returns the version of a package, or `(source)` if it runs without an installation."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "(source)"
