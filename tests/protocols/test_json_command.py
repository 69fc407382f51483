"""`azo json` as a process: the session of the page, and signals."""

import json
import pathlib
import re
import signal
import subprocess
import time

import pytest
from support.drivers import commands

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "protocols.md"


def test_the_session_in_the_documentation_gives_the_answers_shown():
    section = PAGE.read_text().partition("\n## JSON\n")[2]
    queries, shown = re.findall("```\n(.*?)```", section, re.DOTALL)[:2]
    done = subprocess.run(
        commands.azo("json"), input=queries, capture_output=True, text=True, timeout=240
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    for answer in shown.splitlines():
        pattern = re.escape(answer).replace(r"\.\.\.", ".*")
        assert any(re.fullmatch(pattern, line) for line in lines), pattern
    answers = [json.loads(line) for line in lines]
    assert sorted(x["turnNumber"] for x in answers if "error" not in x) == [0, 5]
    assert len(answers) == 3


@pytest.mark.thorough
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
        if not reads:
            time.sleep(2)  # long enough to fill the pipe: all threads wait for the reader
        process.send_signal(number)
        assert process.wait(20) == 128 + number
        lines = (first + process.stdout.read()).decode().splitlines()
        assert process.stderr.read() == b""
    whole = lines if reads else lines[:-1]  # a full pipe takes a part of the last one
    assert all(json.loads(line)["isDuringSearch"] for line in whole)
