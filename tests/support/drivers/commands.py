"""Commands, in this process as `python -m azo` runs them, or in processes of their own."""

import subprocess
import sys

from azo import __main__


def run(*words):
    """Returns the exit code of a command."""
    return __main__.main([str(word) for word in words])


def azo(*words):
    """Returns a command for another process."""
    return [sys.executable, "-m", "azo", *map(str, words)]


def start(*words):
    """Starts a command in another process; its standard error can be read."""
    return subprocess.Popen(
        azo(*words), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def refused(capsys, *words, run=run):
    """Runs a command that has to be refused in one line; returns the line."""
    capsys.readouterr()
    assert run(*words) == 2
    shown = capsys.readouterr()
    assert shown.err.count("\n") == 1, shown.err
    message = shown.err.removesuffix("\n")
    assert message.isprintable(), message
    assert len(message) < 1100, message
    return message
