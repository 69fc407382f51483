"""Ctrl-C in a terminal."""

import contextlib
import os
import subprocess
import sys

from support import commands, pseudo_terminal

NUM_TRIES = 10


@contextlib.contextmanager
def load():
    """Keeps every core busy with two other processes."""
    words = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(words) for _ in range(2 * os.cpu_count())]
    try:
        yield
    finally:
        for process in others:
            process.kill()
            process.wait()


def test_ctrl_c_at_the_prompt_asks_each_time_on_a_loaded_machine(tmp_path):
    env = os.environ | {"XDG_STATE_HOME": str(tmp_path), "TERM": "xterm"}
    words = commands.azo("play", "--level", "1")
    with pseudo_terminal.PseudoTerminal(words, env=env) as terminal:
        terminal.wait_for("black>")
        terminal.press("f5\n")
        terminal.wait_for("black>")
        with load():
            for _ in range(NUM_TRIES):
                terminal.press(pseudo_terminal.CTRL_C)
                terminal.wait_for("leave this game? (y/n)>")
                terminal.press("n\n")
                terminal.wait_for("black>")
            terminal.press(pseudo_terminal.CTRL_C)
            terminal.wait_for("leave this game? (y/n)>")
            terminal.press("y\n")
            assert terminal.end() == 0
        assert terminal.lines[-1] == "the game is kept: 'azo play' offers it at the next start"
