"""Ctrl-C in a terminal while a command compiles its programs, which takes up to minutes."""

import os
import shutil
import sys
import time

import pytest
from support.drivers import pseudo_terminal

# By the promise of docs/reliability.md one second each; other programs may need the processors.
_SECONDS_TO_ANSWER, _SECONDS_TO_END = 5, 5
_LINE = "stopping after the current computation; Ctrl-C again stops at once"
_TRAIN = "train --minutes 2 --run.folder run"
_SUPERVISE = "supervise --source random --num-games 3000 --folder supervised"
_CUP = """
num_games = 4
openings = { plies = 6 }
game = { size = 8 }
[[players]]
name = "conv"
network = "zero-conv"
simulations = [64]
[[players]]
name = "fast"
network = "zero-fast"
simulations = [64]
"""
_TOURNAMENT = "tournament cup.toml --folder games"


@pytest.fixture
def terminal(tmp_path):
    """Opens a terminal with a command that has no programs from an earlier start."""
    opened = []
    (tmp_path / "cup.toml").write_text(_CUP)

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
    # The first Ctrl-C may have ended a run that had nothing to save yet, or a tournament.
    is_kept = "finished games are saved" in shown
    is_stopped = is_kept or "nothing to save" in shown
    assert terminal.process.returncode == (0 if is_stopped else 130), shown
    assert "Traceback" not in shown
    assert is_kept or "━" not in shown  # how far a tournament has come stays
    assert not terminal.is_cursor_hidden


@pytest.mark.thorough
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
@pytest.mark.parametrize(
    ("words", "text"), [(_SUPERVISE, "held out: "), (_TOURNAMENT, "games ━"), (_TRAIN, "compiling")]
)
def test_ctrl_c_ends_every_command_that_compiles(terminal, words, text):
    opened = terminal(words)
    opened.wait_until_shown(text, before="$")
    opened.read_for(2)  # the compiler is at work
    for _ in range(2):  # the first may be enough
        start = time.monotonic()
        if opened.process.poll() is None:
            opened.press(pseudo_terminal.CTRL_C)
            opened.read_for(1.5)
    opened.read_to_end()
    assert time.monotonic() - start < 1.5 + _SECONDS_TO_END
    _assert_left(opened)


@pytest.mark.faults
@pytest.mark.parametrize("seconds", [1, 4, 9, 17, 33])
@pytest.mark.parametrize(
    "words",
    [
        _TRAIN,
        _SUPERVISE,
        _TOURNAMENT,
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
