"""Commands in this process, as `python -m azo` runs them."""

from azo import __main__


def run(*words):
    """Returns the exit code of a command."""
    return __main__.main([str(word) for word in words])


def refused(capsys, *words):
    """Runs a command that has to be refused in one line; returns the line."""
    capsys.readouterr()
    assert run(*words) == 2
    shown = capsys.readouterr()
    assert shown.err.count("\n") == 1, shown.err
    message = shown.err.removesuffix("\n")
    assert message.isprintable(), message
    assert len(message) < 1100, message
    return message
