"""Training runs in processes of their own."""

import os
import pathlib
import subprocess
import sys

from support import tiny_run

ROOT = pathlib.Path(__file__).parents[2]
ENVIRONMENT = os.environ | {"JAX_PLATFORMS": "cpu"}


def command(folder, *flags, name="run", **sections):
    """Returns the command that trains the smallest run in FOLDER/NAME, `sections` changed."""
    path = folder / "tiny.toml"
    path.write_text(tiny_run.toml(**sections))
    return azo("train", "--config", path, "--run.folder", folder / name, *flags)


def azo(*words):
    """Returns a command of azo."""
    return [sys.executable, "-m", "azo", *map(str, words)]


def start(words):
    """Starts a command; its standard error can be read."""
    return subprocess.Popen(
        words,
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
