"""The queue of comparisons: order, failures and stops with a fake runner, and one real job."""

import json
import os
import pathlib
import signal
import threading
import time

import pytest
from support import tiny_run

from azo.cli import ablate, command_line
from azo.run import config, interruption, metrics, run_queue

HEAD = 'base = "tiny.toml"\nmax_evaluations = 1000\nseeds = [0, 1]\nopponent = "random"\n'
HEAD += "num_games = 4\nnum_simulations = 2\n"
ARMS = "".join(f'[[arms]]\nname = "{name}"\nquestion = "{name}?"\n' for name in "abc")


@pytest.fixture
def queue(tmp_path):
    (tmp_path / "tiny.toml").write_text(tiny_run.toml())
    path = tmp_path / "queue.toml"
    path.write_text(HEAD + ARMS)
    return path


def main(*arguments):
    return command_line.run_main(ablate.main, [str(argument) for argument in arguments])


def line_of(job, wins=3):
    """Returns a result as `run_job` would."""
    return {
        "arm": job.arm,
        "seed": job.seed,
        "evaluations": 1120,
        "games": 40,
        "iterations": 7,
        "training_seconds": 1.5,
        "wins": wins,
        "draws": 0,
        "losses": 4 - wins,
        "score": wins / 4,
        **job.asked,
    }


def work_off(queue, run, num_workers=1, stop=None):
    _, waiting = run_queue.load(queue, queue.parent / "runs")
    commands = ablate.Commands()
    return ablate.work_off(
        waiting,
        run,
        queue.parent / "runs" / "results.jsonl",
        num_workers=num_workers,
        stop=stop or interruption.StopRequest(),
        commands=commands,
    )


def results(queue):
    path = queue.parent / "runs" / "results.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_jobs_are_done_in_order_and_leave_a_line_each(queue, capsys):
    done = []
    outcome = work_off(queue, lambda job, cores: done.append((job.arm, job.seed)) or line_of(job))
    assert done == [(arm, seed) for seed in (0, 1) for arm in "abc"]
    assert [(one["arm"], one["seed"]) for one in results(queue)] == done
    assert (outcome.num_failed, outcome.was_stopped) == (0, False)
    shown = capsys.readouterr().out
    assert "b, seed 1: 3/0/1 (score 0.750, 95 % 0.30 to 0.95) against random" in shown
    assert "after 1,120 evaluations, 40 games, 2 s\n" in shown


def test_workers_run_side_by_side_on_cores_of_their_own(queue, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 5, 7})
    assert ablate.shares_of_cores(2) == [[3, 7], [5]]
    assert ablate.shares_of_cores(4) == [[3], [5], [7], [3]]
    both = threading.Barrier(2, timeout=20)  # passed only by two at the same time
    seen = []

    def run(job, cores):
        both.wait()
        seen.append(tuple(cores))
        return line_of(job)

    work_off(queue, run, num_workers=2)
    assert sorted(seen) == [(3, 7)] * 3 + [(5,)] * 3


def test_a_failed_job_is_reported_with_its_log_and_the_others_go_on(queue, capsys):
    def run(job, cores):
        if job.arm == "b":
            job.folder.mkdir(parents=True)
            job.log.write_text("".join(f"line {i}\n" for i in range(20)))
            raise ablate.Failed("azo.train ended with exit code 2")
        return line_of(job)

    outcome = work_off(queue, run)
    assert outcome.num_failed == 2
    assert [one["arm"] for one in results(queue)] == ["a", "c", "a", "c"]
    shown = capsys.readouterr().out
    assert (
        f"b, seed 0: failed: azo.train ended with exit code 2. The end of {queue.parent}" in shown
    )
    assert "line 11\n" not in shown
    assert "  line 12\n" in shown
    assert "  line 19\n" in shown


def test_after_a_request_to_stop_no_job_is_begun(queue):
    stop, begun = interruption.StopRequest(), []

    def run(job, cores):
        begun.append(job.arm)
        if len(begun) == 2:
            stop.is_made = True
            raise ablate.Stopped
        return line_of(job)

    assert work_off(queue, run, stop=stop).was_stopped
    assert begun == ["a", "b"]
    assert [one["arm"] for one in results(queue)] == ["a"]


def test_finished_jobs_are_skipped_and_lists_and_tables_say_how_far_it_is(
    queue, capsys, monkeypatch
):
    folder = queue.parent / "runs"
    _, found = run_queue.load(queue, folder)
    for job, wins in zip(found[:5], (2, 3, 1, 2, 4), strict=True):
        ablate.append(folder / "results.jsonl", line_of(job, wins))
    done = []
    monkeypatch.setattr(ablate, "run_job", lambda job, *_: done.append(job) or line_of(job))
    assert main(queue, "--folder", folder, "--list") == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("done     a, seed 0: 2/0/2 (score 0.500")
    assert shown[5] == "waiting  c, seed 1"
    assert main(queue, "--folder", folder, "--table") == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[3] == (
        "| b | b? | 0.875 | 0.177 | +0.375, -1.213 to +1.963 against a | +338 | 40 | 1,120"
        " | not known |"
    )
    assert shown[4].endswith("| not known, 1 of 2 seeds |")
    assert main(queue, "--folder", folder) == 0
    assert [(job.arm, job.seed) for job in done] == [("c", 1)]
    assert len(results(queue)) == 6


def test_a_line_that_a_crash_cut_short_is_dropped(queue):
    folder = queue.parent / "runs"
    _, found = run_queue.load(queue, folder)
    path = folder / "results.jsonl"
    ablate.append(path, line_of(found[0]))
    with path.open("a") as file:
        file.write('{"arm": "b", "se')
    assert [one["arm"] for one in ablate.read_results(path, found)] == ["a"]
    ablate.append(path, line_of(found[2]))
    assert [one["arm"] for one in results(queue)] == ["a", "c"]


def test_results_of_other_settings_are_not_taken_for_those_asked_for(queue, capsys):
    folder = queue.parent / "runs"
    _, found = run_queue.load(queue, folder)
    ablate.append(folder / "results.jsonl", line_of(found[0]))
    queue.write_text(queue.read_text().replace("= 1000", "= 2000"))
    assert main(queue, "--folder", folder, "--table") == 2
    assert capsys.readouterr().err == (
        f"{folder}/results.jsonl: arm 'a' with seed 0 has a result with max_evaluations 1000, but"
        " the queue asks for 2000: rename the arm, or give another --folder\n"
    )


def test_a_bad_queue_or_flag_is_one_line_and_code_2(queue, capsys):
    assert main(queue.with_name("none.toml")) == 2
    assert capsys.readouterr().err == f"{queue.with_name('none.toml')}: no such queue file\n"
    assert main(queue, "--num-workers", "0") == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_commands_are_told_to_stop_and_none_begins_afterwards(tmp_path, monkeypatch):
    (tmp_path / "sleeper.py").write_text(
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('saved'), sys.exit(0)))\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    commands, log, ends = ablate.Commands(), tmp_path / "log.txt", []

    def run():
        try:
            commands.run(["sleeper"], [], log)
        except ablate.Stopped:
            ends.append("stopped")

    thread = threading.Thread(target=run)
    thread.start()
    limit_seconds = time.monotonic() + 20
    while not log.exists() or "ready" not in log.read_text():
        assert time.monotonic() < limit_seconds
        time.sleep(0.02)
    commands.stop()
    thread.join(20)
    assert ends == ["stopped"]
    assert log.read_text() == "ready\nsaved\n"
    with pytest.raises(ablate.Stopped):
        commands.run(["sleeper"], [], log)


def test_a_command_runs_on_its_cores_and_its_exit_code_counts(tmp_path, monkeypatch):
    (tmp_path / "shower.py").write_text(
        "import os, sys, time\n"
        "time.sleep(0.5)\n"
        "print(sorted(os.sched_getaffinity(0)))\n"
        "sys.exit(int(sys.argv[1]))\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    core = min(os.sched_getaffinity(0))
    ablate.Commands().run(["shower", "0"], [core], tmp_path / "log.txt")
    assert (tmp_path / "log.txt").read_text() == f"[{core}]\n"
    with pytest.raises(ablate.Failed) as failure:
        ablate.Commands().run(["shower", "3"], [], tmp_path / "log.txt")
    assert str(failure.value) == "shower ended with exit code 3"


def test_a_curriculum_ends_with_its_budget_and_the_last_network_is_judged(queue, monkeypatch):
    phases = "".join(f'[[curriculum]]\nname = "{name}"\n' for name in ("one", "two", "three"))
    (queue.parent / "phases.toml").write_text(tiny_run.toml() + phases)
    queue.write_text(
        HEAD + '[[arms]]\nname = "a"\nquestion = "?"\nconfig = "phases.toml"\n'
        'set = {"search.num_simulations" = 3}\n'
    )
    _, (job, _) = run_queue.load(queue, queue.parent / "runs")
    budgets = []

    class Fake(ablate.Commands):
        def run(self, arguments, cores, log):
            if arguments[0] == "evaluate":
                log.write_text(f"{arguments[1]} against random: 2/1/1 (score 0.625)\n")
                judged.append(arguments[1])
                return
            run = config.load_file(pathlib.Path(arguments[2])).run
            budgets.append(run.max_evaluations)
            with metrics.MetricsWriter(run.folder) as writer:
                last = {"selfplay/games": 5, "selfplay/evaluations": 590}
                writer.write("iteration", 6, last | {"time/training_seconds": 2.0})
                # A gate's match comes after the line of the iteration.
                writer.write("evaluation", 6, {"selfplay/evaluations": 600})
                writer.write("end", 6, {"reason": "score 1.000 against random"})

    judged = []
    result = ablate.run_job(job, [], Fake())
    assert budgets == [1000, 400]
    assert judged == [f"network:{queue.parent}/runs/a/0/2-two:2"]
    figures = ("evaluations", "games", "iterations", "training_seconds", "score")
    assert [result[name] for name in figures] == [1200, 10, 12, 4.0, 0.625]
    assert result["overrides"] == {"search.num_simulations": 3}


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
    assert main(queue, "--folder", folder, "--num-workers", 1) == 130
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
    assert json.loads(json.dumps(job.asked)).items() <= result.items()
    assert (folder / "a" / "2" / "run.toml").exists()
