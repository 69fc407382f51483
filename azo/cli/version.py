"""The version of the installed package."""

import importlib.metadata


def version() -> str:
    """Returns the version of azo, or `(source)` if azo runs without an installation."""
    try:
        return importlib.metadata.version("azo")
    except importlib.metadata.PackageNotFoundError:
        return "(source)"
