"""`azo json` as a process: the session of the page, and signals."""

import array
import fcntl
import json
import pathlib
import re
import signal
import subprocess
import termios
import time

import pytest
from support import commands, pseudo_terminal

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "protocols.md"


def session():
    """Returns the queries of the page, and patterns of the answers."""
    section = PAGE.read_text().partition("\n## JSON\n")[2]
    queries, answers = re.findall("```\n(.*?)```", section, re.DOTALL)[:2]
    patterns = [re.escape(line).replace(r"\.\.\.", ".*") for line in answers.splitlines()]
    return queries, patterns


def check(lines):
    _, patterns = session()
    for pattern in patterns:
        assert any(re.fullmatch(pattern, line) for line in lines), pattern
    answers = [json.loads(line) for line in lines]
    assert sorted((x["id"], x.get("turnNumber")) for x in answers if "error" not in x) == [
        ("a", 0), ("a", 5)
    ]  # fmt: skip
    assert len(answers) == 3


def test_the_session_of_the_page_in_a_pipe():
    done = subprocess.run(
        commands.azo("json"), input=session()[0], capture_output=True, text=True, timeout=240
    )
    assert (done.returncode, done.stderr) == (0, "")
    check(done.stdout.splitlines())


def test_the_session_of_the_page_in_a_terminal():
    with pseudo_terminal.PseudoTerminal(commands.azo("json"), columns=20_000) as terminal:
        for line in session()[0].splitlines():
            terminal.press(line + "\n")
        terminal.wait_until_shown('"turnNumber":0', before="$")
        terminal.wait_until_shown('"turnNumber":5', before="$")
        terminal.press(pseudo_terminal.CTRL_D)
        assert terminal.end() == 0
        typed = {line.strip() for line in session()[0].splitlines()}
        check([line for line in terminal.lines if line.startswith("{") and line not in typed])


@pytest.mark.parametrize(
    ("number", "reads"), [(signal.SIGINT, True), (signal.SIGTERM, True), (signal.SIGINT, False)]
)
def test_a_signal_ends_it_at_once_with_whole_lines(number, reads):
    pipe = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(commands.azo("json"), **pipe) as process:
        query = {"maxVisits": 10**9, "reportDuringSearchEvery": 0.01 if reads else 1e-6}
        for name in "abc":
            process.stdin.write(json.dumps({"id": name, "includePolicy": True} | query).encode())
            process.stdin.write(b"\n")
        process.stdin.flush()
        first = process.stdout.readline()
        if not reads:  # until all threads wait for the reader
            before = -1
            while before != (now := _bytes_in(process.stdout)):
                before = now
                time.sleep(0.5)
        process.send_signal(number)
        assert process.wait(20) == 128 + number
        lines = (first + process.stdout.read()).decode().splitlines()
        assert process.stderr.read() == b""
    whole = lines if reads else lines[:-1]  # a full pipe takes a part of the last one
    assert all(json.loads(line)["isDuringSearch"] for line in whole)


def _bytes_in(pipe):
    number = array.array("i", [0])
    fcntl.ioctl(pipe.fileno(), termios.FIONREAD, number)
    return number[0]
