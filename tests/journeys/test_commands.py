"""Every command that the pages name, as a person runs it: in terminals, one narrow, and piped."""

import pathlib
import shlex

import pytest
import test_docs
from support.drivers import command_steps
from support.drivers.command_steps import FULL, NARROW, PIPE, STEPS

ROOT = pathlib.Path(__file__).parents[2]
# Needs several terminals: tests/training/test_several_processes.py.
LEFT_OUT = {("train", "--distributed")}


@pytest.fixture(scope="module")
def shells(tmp_path_factory):
    with command_steps.Shells(lambda: tmp_path_factory.mktemp("journey")) as shells:
        yield shells


@pytest.mark.parametrize(
    ("screen", "step"), command_steps.on(FULL, NARROW, PIPE), ids=command_steps.name
)
def test_a_command_ends_as_it_should(shells, screen, step):
    shells.check(screen, step)


def test_every_command_and_flag_of_the_pages_has_a_step():
    def named(words):
        """Returns the command with each of its flags; settings of sections are test_docs's."""
        flags = {word.partition("=")[0] for word in words[1:] if word.startswith("--")}
        return {(words[0], flag) for flag in flags if "." not in flag} | {(words[0], "")}

    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    on_pages = {
        pair
        for page in pages
        for words in test_docs._commands(page.read_text())
        for pair in named(words)
    }
    in_steps = {pair for step in STEPS for pair in named(shlex.split(step.command))}
    assert on_pages - in_steps == LEFT_OUT
