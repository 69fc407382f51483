"""Files that come with azo: settings files and networks, in a clone and in an installed wheel."""

import importlib.metadata
import pathlib

from azo.settings import validation

_PACKAGE = pathlib.Path(__file__).resolve().parents[1]
_CONFIGS_OF_WHEEL = _PACKAGE / "configs"
CONFIGS = _CONFIGS_OF_WHEEL if _CONFIGS_OF_WHEEL.exists() else _PACKAGE.parent / "configs"
NETWORKS = _PACKAGE / "networks" / "shipped"
# The shipped network that plays by default, for each game that has one (see docs/networks.md).
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

    `.toml` may be left out, as in `champions/own-play`. Messages call such files by `what`, such
    as "queue". Shipped ones are in the `folder` of `CONFIGS`; a relative path begins at `beside`.
    """
    shipped = CONFIGS / folder
    for place in (beside, shipped):
        for name in (path, path.with_name(f"{path.name}.toml")):
            if (place / name).is_file():
                return place / name
    if (beside / path).exists():  # a folder, which cannot be read as a file
        return beside / path
    places = [shipped / path.parent, beside / path.parent]
    if len(path.parts) == 1:
        places = [shipped, *([CONFIGS / "champions"] if folder == "." else [])]
    names: dict[str, str] = {}
    for place in places:
        is_below = place != shipped and place.is_relative_to(shipped)
        prefix = f"{place.relative_to(shipped).as_posix()}/" if is_below else ""
        names |= {file.stem: prefix + file.stem for file in sorted(place.glob("*.toml"))}
    raise ValueError(f"{path}: no such {what} file. {validation.suggest(path.stem, names)}")


def version(package: str = "azo") -> str:
    """Returns the version of a package, or `(source)` if it runs without an installation."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "(source)"
