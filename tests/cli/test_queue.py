"""The command `azo queue`: tables and messages."""

import functools
import re

import pytest
from support.builders import small_queue
from support.builders.small_queue import finished, keep, result_of
from support.drivers import commands

from azo.queues import queue_runner, run_queue

run = functools.partial(commands.run, "queue")
refused = functools.partial(commands.refused, run=run)


@pytest.fixture
def queue(tmp_path):
    return small_queue.write(tmp_path)


def test_finished_jobs_are_skipped_and_tables_show_the_progress(queue, capsys, monkeypatch):
    folder = queue.parent / "runs"
    _, jobs = run_queue.load(queue, folder)
    for job, wins in zip(jobs[:5], (2, 3, 1, 2, 4), strict=True):
        keep(job, wins, 4 - wins)
    done = []
    monkeypatch.setattr(queue_runner, "run_job", lambda job, *_: done.append(job) or result_of(job))
    assert run(queue, "--folder", folder, "--table") == 0
    shown = capsys.readouterr().out.splitlines()
    effect = r"\+\d+, -\d+ to \+\d+"
    row = rf"\| b \| b\? \| 0\.875 \| {effect} \| a \| 40 \| 1,120 \| 2 of 2 \|"
    assert re.fullmatch(row, shown[3])
    assert shown[4].endswith("| 1 of 2 |")
    assert run(queue, "--folder", folder) == 0
    assert [(job.arm.name, job.seed) for job in done] == [("c", 1)]
    assert len(finished(jobs)) == 6


def test_results_of_other_settings_are_refused(queue, capsys):
    folder = queue.parent / "runs"
    _, jobs = run_queue.load(queue, folder)
    keep(jobs[0])
    queue.write_text(queue.read_text().replace("= 1000", "= 2000"))
    assert refused(capsys, queue, "--folder", folder, "--table") == (
        f"{folder}/a/0/result.json: a result with max_evaluations 1000, but the queue asks for"
        " 2000: rename arm 'a', or give another --folder"
    )
