"""Ctrl-C in a terminal while a command compiles its programs, which takes up to minutes."""

import os
import shutil
import sys
import time

import pytest
from support import pseudo_terminal

# By the promise of docs/reliability.md one second each; other programs may need the processors.
_SECONDS_TO_ANSWER, _SECONDS_TO_END = 5, 5
_LINE = "stopping after the present computation; Ctrl-C again ends at once"
_TRAIN = "train --minutes 2 --run.folder run"


@pytest.fixture
def terminal(tmp_path):
    """Opens a terminal with a command that has no programs from an earlier start."""
    opened = []

    def open_terminal(words):
        env = {
            **{name: x for name, x in os.environ.items() if not name.startswith("JAX_DISABLE")},
            "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "programs"),
            "NUMBA_CACHE_DIR": str(tmp_path / "functions"),
        }
        opened.append(
            pseudo_terminal.PseudoTerminal(
                [sys.executable, "-P", "-m", "azo", *words.split()],
                columns=100,
                env=env,
                cwd=tmp_path,
                is_piped=False,
            )
        )
        return opened[-1]

    yield open_terminal
    for one in opened:
        one.close()
    shutil.rmtree(tmp_path / "programs", ignore_errors=True)


def _assert_left(terminal):
    """The command has ended without a traceback, a bar or a hidden cursor."""
    shown = "\n".join(terminal.lines)
    # The first Ctrl-C may have ended a run that had nothing to save yet.
    assert terminal.process.returncode == (0 if "nothing to save" in shown else 130), shown
    assert "Traceback" not in shown
    assert "━" not in shown
    assert not terminal.is_cursor_hidden


def test_a_second_ctrl_c_ends_a_run_that_compiles(terminal):
    opened = terminal(_TRAIN)
    opened.wait_until_shown("compiling", before="$")
    start = time.monotonic()
    opened.press(pseudo_terminal.CTRL_C)
    opened.wait_until_shown(_LINE, before="$")
    assert time.monotonic() - start < _SECONDS_TO_ANSWER
    start = time.monotonic()
    opened.press(pseudo_terminal.CTRL_C)
    opened.read_to_end()
    assert time.monotonic() - start < _SECONDS_TO_END
    _assert_left(opened)


@pytest.mark.faults
@pytest.mark.parametrize("seconds", [1, 4, 9, 17, 33])
@pytest.mark.parametrize(
    "words",
    [
        _TRAIN,
        "evaluate network:zero-fast:64 network:zero-conv:64 --num-games 32",
        "play --network zero-conv",
        "gtp --network zero-conv",
        "analyse f5d6c3d3c4f4f6 --network zero-conv",
    ],
)
def test_two_ctrl_c_end_a_command_at_any_moment(terminal, words, seconds):
    opened = terminal(words)
    opened.read_for(seconds)
    for _ in range(2):
        if opened.process.poll() is None:
            opened.press(pseudo_terminal.CTRL_C)
            opened.read_for(1.5)
    start = time.monotonic()
    opened.read_to_end()
    assert time.monotonic() - start < _SECONDS_TO_END
    # 0 if all was done; Python itself reports an interruption before the first line of azo runs.
    if opened.process.returncode not in (0, -2, 1):
        _assert_left(opened)
