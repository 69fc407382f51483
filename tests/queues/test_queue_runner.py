"""Work on a queue: order, failures and stops, with jobs that only pretend to train."""

import json
import pathlib
import threading
import time

import pytest
from support.builders import small_queue, tiny_run
from support.builders.small_queue import ARMS, HEAD, finished, keep, result_of

from azo.process import interruption
from azo.queues import queue_runner, run_queue
from azo.storage import locks
from azo.training import config, metrics

MATCH = {"wins": 2, "draws": 1, "losses": 1, "pair_scores": (0, 0, 1, 1, 0)}
NO_STOP = interruption.StopRequest()


@pytest.fixture
def queue(tmp_path):
    return small_queue.write(tmp_path)


def work_off(queue, monkeypatch, run, stop=NO_STOP):
    """Returns the number of open jobs, and arm and seed of the finished ones."""
    _, jobs = run_queue.load(queue, queue.parent / "runs")
    monkeypatch.setattr(queue_runner, "run_job", run)
    return queue_runner.work_off(jobs, stop), finished(jobs)


def fake_commands(monkeypatch, reason):
    """Replaces child processes; returns their commands, and the settings of the runs."""
    commands, runs = [], []

    def run_command(command, output, log, stop):
        commands.append(command)
        if command[:2] == ["azo", "evaluate"]:
            output.write_text(json.dumps({"players": ["a", "b"], **MATCH, "score": 0.625}))
            return
        runs.append(config.load_file(pathlib.Path(command[3])).run)
        with metrics.MetricsWriter(runs[-1].folder) as writer:
            last = {"selfplay/games": 5, "selfplay/evaluations": 590}
            seconds = {"time/training_seconds": 2.0, "time/processor_seconds": 1.5}
            writer.write("iteration", 6, last | seconds)
            # A gate's match comes after the line of the iteration.
            writer.write("evaluation", 6, {"selfplay/evaluations": 600})
            writer.write("end", 6, {"reason": reason})

    monkeypatch.setattr(queue_runner, "run_command", run_command)
    return commands, runs


def test_a_failed_job_is_reported_with_its_log_and_the_others_go_on(queue, capsys, monkeypatch):
    def run(job, *_):
        if job.arm.name == "b":
            job.log.write_text("".join(f"line {i}\n" for i in range(20)))
            raise queue_runner.Failed("azo train ended with exit code 2")
        return result_of(job)

    assert work_off(queue, monkeypatch, run) == (2, [("a", 0), ("c", 0), ("a", 1), ("c", 1)])
    log = queue.parent / "runs" / "b" / "0" / "log.txt"
    report = f"b, seed 0: failed: azo train ended with exit code 2. The end of {log}:\n"
    report += "".join(f"  line {i}\n" for i in range(12, 20))
    assert report in capsys.readouterr().out


def test_after_a_request_to_stop_no_job_is_begun(queue, monkeypatch):
    stop, begun = interruption.StopRequest(), []

    def run(job, *_):
        begun.append(job.arm.name)
        if len(begun) == 2:
            stop.is_made = True
            raise queue_runner.Stopped
        return result_of(job)

    assert work_off(queue, monkeypatch, run, stop) == (0, [("a", 0)])
    assert begun == ["a", "b"]


def write_program(folder, monkeypatch, *lines):
    """Writes the module `program`; returns the paths of its output and its log."""
    monkeypatch.setenv("PYTHONPATH", str(folder))
    (folder / "program.py").write_text("\n".join(["import signal, sys, time", *lines]))
    return folder / "output.txt", folder / "log.txt"


def test_a_command_is_stopped_by_sigterm_and_may_save(tmp_path, monkeypatch):
    saves = "signal.signal(signal.SIGTERM, lambda *_: (print('saved'), sys.exit(0)))"
    lines = saves, "print('ready', flush=True)", "time.sleep(60)"
    output, log = write_program(tmp_path, monkeypatch, *lines)
    stop = interruption.StopRequest()

    def stop_when_ready():
        while not output.exists() or "ready" not in output.read_text():
            time.sleep(0.02)
        stop.is_made = True

    threading.Thread(target=stop_when_ready, daemon=True).start()
    with pytest.raises(queue_runner.Stopped):
        queue_runner.run_command(["program"], output, log, stop)
    assert output.read_text() == "ready\nsaved\n"


def test_a_curriculum_ends_with_its_budget_and_the_last_network_is_judged(queue, monkeypatch):
    phases = "".join(f'[[curriculum]]\nname = "{name}"\n' for name in ("one", "two", "three"))
    (queue.parent / "phases.toml").write_text(tiny_run.toml() + phases)
    queue.write_text(
        HEAD + '[[arms]]\nname = "a"\nquestion = "?"\nconfig = "phases.toml"\n'
        'set = {"search.num_simulations" = 3}\n'
    )
    _, (job, _) = run_queue.load(queue, queue.parent / "runs")
    commands, runs = fake_commands(monkeypatch, "score 1.000 against random")
    result = queue_runner.run_job(job, NO_STOP)
    assert [run.max_evaluations for run in runs] == [1000, 400]
    assert commands[-1][2:4] == [f"network:{queue.parent}/runs/a/0/2-two:2", "random"]
    figures = ("evaluations", "games", "iterations", "training_seconds", "processor_seconds")
    assert [getattr(result, name) for name in figures] == [1200, 10, 12, 4.0, 3.0]
    assert result.match.score == 0.625
    assert result.request["overrides"] == {"search.num_simulations": 3}


def test_a_job_of_another_process_is_left_out(queue, monkeypatch, capsys):
    _, jobs = run_queue.load(queue, queue.parent / "runs")
    with locks.lock_folder(jobs[1].folder):
        num_open, done = work_off(queue, monkeypatch, lambda job, *_: result_of(job))
    assert (num_open, len(done), ("b", 0) in done) == (1, 5, False)
    assert f"b, seed 0: left out: {jobs[1].folder}: in use by process" in capsys.readouterr().out


VERSUS = "opening_plies = 6\nversus_games = 8\n"


def test_a_budget_of_processor_time_ends_runs_and_arms_meet_one_another(queue, monkeypatch):
    head = HEAD.replace("max_evaluations = 1000", "max_processor_seconds = 9.5")
    queue.write_text(head + VERSUS + ARMS)
    _, jobs = run_queue.load(queue, queue.parent / "runs")
    commands, runs = fake_commands(monkeypatch, "all 9.5 processor seconds are used")
    assert queue_runner.run_job(jobs[0], NO_STOP).versus is None
    with pytest.raises(queue_runner.Failed, match="a, seed 0 has no result"):
        queue_runner.run_job(jobs[1], NO_STOP)
    keep(jobs[0])
    second = queue_runner.run_job(jobs[1], NO_STOP)
    assert {(run.max_evaluations, run.max_processor_seconds) for run in runs} == {(None, 9.5)}
    assert (second.against, vars(second.versus)) == ("a", MATCH)
    players = [f"network:{queue.parent}/runs/{arm}/0/run:2" for arm in "ba"]
    assert commands[-1] == [
        *("azo", "evaluate", *players, "--num-games=8"),
        *("--opening-plies=6", "--seed=0", "--json"),
    ]
