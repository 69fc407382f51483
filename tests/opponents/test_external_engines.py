"""External engines: their faults, and requests that they cannot serve."""

import logging
import os
import pathlib
import subprocess
import sys
import time

import pytest
from support.drivers.refusals import message_of
from support.fakes import fake_engines
from support.fakes.fake_engines import FAKES, GAME, actions, gtp, sent

from azo.games import othello
from azo.opponents import engine_protocols, external_engines


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["die"], "died (exit code 3)"),
        (["kill"], "died (signal 9)"),
        (["close"], "closed its output"),
        (["say", "a1"], "illegal move a1"),
        (["say", "PASS"], "illegal move pass"),
        (["say", "z9"], "unreadable move 'z9'"),
        (["say", "resign"], "resigned"),
        (["refuse", "cannot think"], "refused 'genmove b': cannot think"),
        (["say", "\x1b[2J\t\x07x"], "unreadable move '?[2J ?x'"),
        (["one-line"], "wrote a line of more than 65536 bytes"),
        (["long-answer"], "wrote an answer of more than 65536 characters"),
    ],
)
def test_the_fault_of_an_engine_is_named_and_logged(caplog, arguments, reason):
    caplog.set_level(logging.WARNING, "azo.engines")
    with gtp(*arguments) as engine:
        with pytest.raises(engine_protocols.EngineError) as error:
            engine.choose([])
        assert error.value.reason == reason
        assert str(error.value) == f"fake: {reason}"
        if arguments != ["long-answer"]:  # of which the last lines are kept
            assert {"> genmove b", "< A greeting"} <= set(error.value.exchange)
        assert ("! out of memory" in error.value.exchange) == (arguments == ["die"])
        (record,) = caplog.records
        assert record.getMessage() == "\n".join([f"fake: {reason}", *error.value.exchange])


@pytest.mark.parametrize("mode", ["hang", "flood"])
def test_an_engine_without_an_answer_is_stopped_at_the_limit(tmp_path, mode):
    with gtp(mode, tmp_path / "mark", seconds_per_move=0.3) as engine:
        begin = time.monotonic()
        with pytest.raises(engine_protocols.EngineError) as error:
            engine.choose([])
        assert error.value.reason == "timed out after 0.3 s"
    assert 0.3 <= time.monotonic() - begin < 20  # the engine would take 60 s


def test_an_engine_that_does_not_start_in_time_is_an_error():
    with pytest.raises(engine_protocols.EngineError) as error:
        gtp("no-start", startup_seconds=0.2)
    assert error.value.reason == "timed out after 0.2 s"
    assert error.value.exchange == ("> boardsize 8",)


def test_a_killed_engine_leaves_no_process_behind(tmp_path):
    mark = tmp_path / "pids"
    fake = f"{sys.executable} {FAKES / 'fake_gtp.py'} hang {tmp_path / 'mark'}"
    # The shell waits for the engine, and so is its parent.
    script = f"echo $$ > {mark}; {fake}; echo ended"
    config = fake_engines.config("sh", "-c", script, seconds_per_move=1)
    with external_engines.ExternalEngine(config, GAME) as engine:
        with pytest.raises(engine_protocols.EngineError):
            engine.choose([])
        assert (tmp_path / "mark").read_text() == "hanging"
        group = int(mark.read_text())
        assert _ends(group)


@pytest.mark.thorough
def test_a_killed_process_leaves_no_engine_behind(tmp_path):
    script = (
        "from support.fakes import fake_engines\n"
        f"engine = fake_engines.gtp('hang', {str(tmp_path / 'mark')!r})\n"
        "print(engine._process._process.pid, flush=True)\n"
        "engine.choose([])\n"
    )
    command = [sys.executable, "-c", script]
    environment = os.environ | {"PYTHONPATH": str(FAKES.parents[2])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as parent:
        group = int(parent.stdout.readline())
        while not (tmp_path / "mark").exists():
            time.sleep(0.01)
        assert _is_alive(group)
        parent.kill()
    assert _ends(group)


def _ends(group):
    """Waits for the end of all processes of a group, which the system reaps, not we."""
    deadline = time.monotonic() + 10
    while _is_alive(group) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not _is_alive(group)


def _is_alive(group):
    """Returns whether any process of the group runs; zombies do not count."""
    for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group = status.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(its_group) == group and state != "Z":
            return True
    return False


def test_after_a_failure_the_next_move_comes_from_a_new_process(caplog, tmp_path):
    with gtp("die-once", tmp_path / "mark") as engine:
        with pytest.raises(engine_protocols.EngineError):
            engine.choose([])
        caplog.set_level(logging.DEBUG, "azo.engines")
        assert engine.choose(actions("d3")).action == actions("c3")[0]
        expected = ["boardsize 8", "clear_board", "play b D3", "genmove w"]
        assert sent(caplog) == expected


# Requests


@pytest.mark.parametrize(
    ("game", "expected"),
    [
        (othello.Othello(4), "fake: no 4x4 board: refused 'boardsize 4': unacceptable size"),
        (othello.Othello(8, is_reversed=True), "fake: external engines do not play reversed"),
        (
            othello.Othello(8, start_bits=(1 << 27 | 1 << 36, 1 << 28 | 1 << 35)),
            "fake: external engines play only from the usual start",
        ),
    ],
)
def test_a_game_that_an_engine_cannot_play_is_refused_at_once(game, expected):
    assert message_of(gtp, game=game).startswith(expected)


def test_nboard_has_8x8_alone():
    config = fake_engines.config("fake", protocol="nboard", level=1)
    with pytest.raises(ValueError, match="fake 1: engines of NBoard play on 8x8, not on 6x6"):
        external_engines.ExternalEngine(config, othello.Othello(6))


def test_a_missing_program_or_folder_is_named(tmp_path):
    folder = tmp_path / "nowhere"
    for settings, message in (
        (
            {},
            "cannot start 'no-such-engine' (No such file or directory): install it, or give its"
            " path; PATH and /usr/games were searched",
        ),
        ({"folder": folder}, f"there is no folder {folder}"),
    ):
        config = fake_engines.config("no-such-engine", **settings)
        assert message_of(external_engines.ExternalEngine, config, GAME) == f"fake: {message}"
