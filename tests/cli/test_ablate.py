"""The command `azo ablate`: tables, messages, and one real job."""

import json
import os
import re
import signal
import threading
import time

import pytest
from support import small_queue
from support.small_queue import ARMS, HEAD, line_of, results

from azo.cli import ablate, command_line
from azo.measure import journal
from azo.run import metrics, queue_runner, run_queue


@pytest.fixture
def queue(tmp_path):
    return small_queue.write(tmp_path)


def main(*arguments):
    return command_line.run_main(ablate.main, [str(argument) for argument in arguments])


def test_finished_jobs_are_skipped_and_tables_show_the_progress(queue, capsys, monkeypatch):
    folder = queue.parent / "runs"
    _, jobs = run_queue.load(queue, folder)
    for job, wins in zip(jobs[:5], (2, 3, 1, 2, 4), strict=True):
        journal.append(folder / "results.jsonl", json.dumps(line_of(job, wins)))
    done = []
    monkeypatch.setattr(queue_runner, "run_job", lambda job, *_: done.append(job) or line_of(job))
    assert main(queue, "--folder", folder, "--table") == 0
    shown = capsys.readouterr().out.splitlines()
    effect = r"\+\d+, -\d+ to \+\d+"
    row = rf"\| b \| b\? \| 0\.875 \| {effect} \| a \| 40 \| 1,120 \| 2 of 2 \| not known \|"
    assert re.fullmatch(row, shown[3])
    assert shown[4].endswith("| 1 of 2 | not known |")
    assert main(queue, "--folder", folder) == 0
    assert [(job.arm, job.seed) for job in done] == [("c", 1)]
    assert len(results(queue)) == 6


def test_results_of_other_settings_are_refused(queue, capsys):
    folder = queue.parent / "runs"
    _, jobs = run_queue.load(queue, folder)
    journal.append(folder / "results.jsonl", json.dumps(line_of(jobs[0])))
    queue.write_text(queue.read_text().replace("= 1000", "= 2000"))
    assert main(queue, "--folder", folder, "--table") == 2
    assert capsys.readouterr().err == (
        f"{folder}/results.jsonl: arm 'a' with seed 0 has a result with max_evaluations 1000, but"
        " the queue asks for 2000: rename the arm, or give another --folder\n"
    )


def test_a_bad_queue_or_flag_is_one_line_and_code_2(queue, capsys):
    assert main(queue.with_name("none.toml")) == 2
    message = f"{queue.with_name('none.toml')}: no such queue file. There are: queue, tiny\n"
    assert capsys.readouterr().err == message
    assert main(queue, "--num-workers", "0") == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.slow  # the others judge made-up runs
def test_a_real_job_trains_to_its_budget_is_stopped_resumed_and_judged(queue, capsys):
    folder = queue.parent / "runs"
    queue.write_text(HEAD.replace("[0, 1]", "[2]") + ARMS[: ARMS.index("[[arms]]", 5)])
    _, (job,) = run_queue.load(queue, folder)

    def stop_when_begun():
        limit_seconds = time.monotonic() + 200
        while not metrics.read(folder / "a" / "2" / "run", "iteration"):
            if time.monotonic() > limit_seconds:
                return
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=stop_when_begun).start()
    assert main(queue, "--folder", folder, "--num-workers", 1) == 0
    assert not (folder / "results.jsonl").exists()
    assert "stopped and saved" in capsys.readouterr().out
    assert main(queue, "--folder", folder, "--num-workers", 1) == 0
    (result,) = results(queue)
    # 8 games x 4 plies x 5 evaluations are 160 an iteration: the seventh passes 1000.
    assert (result["evaluations"], result["iterations"]) == (1120, 7)
    done = [event["iteration"] for event in metrics.read(folder / "a" / "2" / "run", "iteration")]
    assert done == [1, 2, 3, 4, 5, 6, 7]
    assert result["wins"] + result["draws"] + result["losses"] == 4
    assert result["score"] == (result["wins"] + result["draws"] / 2) / 4
    assert json.loads(json.dumps(job.request)).items() <= result.items()
    assert (folder / "a" / "2" / "run.json").exists()
