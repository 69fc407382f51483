"""Works off a queue of runs: several at a time, each on its share of the cores.

A job trains by `azo train` and plays its matches by `azo evaluate`, as child processes: one against
the common opponent, and one against the arm that it is compared with. A finished job adds one line
to `results.jsonl` in the queue's folder. A job is skipped once the effects of its arm, and of all
arms that are compared with it, are known. After a request to stop the child processes save and end,
and the same queue resumes them later.
"""

import concurrent.futures
import contextlib
import itertools
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence

import pydantic

from azo.lab import comparison, elo, run_queue
from azo.lab.comparison import Results
from azo.storage import files, journal, locks
from azo.training import config, interruption, metrics, shipped_files

RESULTS = "results.jsonl"
_LINES_OF_LOG = 8
_SECONDS_BETWEEN_CHECKS = 0.5
_FIGURES = {  # of a result, and what the metrics of a run call them
    "evaluations": "selfplay/evaluations",
    "games": "selfplay/games",
    "iterations": "iteration",
    "training_seconds": "time/training_seconds",
    "processor_seconds": "time/processor_seconds",
}
_MATCH = pydantic.TypeAdapter(elo.MatchResult)


class Failed(Exception):
    """A child process failed; the message says how."""


class Stopped(Exception):
    """A request to stop came before the end of a job."""


def run_command(
    command: Sequence[str], output: pathlib.Path, log: pathlib.Path, stop: interruption.StopRequest
) -> None:
    """Runs a Python module with arguments, and adds what it writes to the files.

    After a request to stop the process receives SIGTERM once, and saves; then raises Stopped.
    Raises Failed if the exit code is not 0.
    """
    with output.open("a") as output_file, log.open("a") as log_file:
        # In a session of its own, so that Ctrl-C interrupts only this process.
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            stdin=subprocess.DEVNULL,
            stdout=output_file,
            stderr=log_file,
            start_new_session=True,
        )
        while process.poll() is None and not stop.is_made:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_SECONDS_BETWEEN_CHECKS)
        if stop.is_made:
            process.terminate()
            process.wait()
            raise Stopped
    if process.returncode:
        raise Failed(f"{' '.join(command[:2])} ended with exit code {process.returncode}")


def _wait_until_free(folder: pathlib.Path, stop: interruption.StopRequest) -> None:
    """Waits for a child process of a killed queue, which still trains in the folder of a run."""
    noted = ""
    while not stop.is_made:
        try:
            locks.lock_folder(folder).release()
            return
        except locks.InUse as error:
            if str(error) != noted:
                print(noted := str(error), flush=True)
        time.sleep(_SECONDS_BETWEEN_CHECKS)


def run_job(
    job: run_queue.Job, stop: interruption.StopRequest, other: comparison.Result | None
) -> comparison.Result:
    """Trains, or resumes training, and plays the matches, one of them against `other`, if any.

    Raises Failed or Stopped, as `run_command` does.
    """
    print(f"{job}: begins", flush=True)
    job.folder.mkdir(parents=True, exist_ok=True)
    queue, left = job.queue, job.queue.budget
    runs: list[pathlib.Path] = []
    while len(runs) < job.num_phases and left > 0:
        settings = job.phase(len(runs), left)
        run = settings.run.folder
        file = run.with_name(f"{run.name}.json")
        files.write(file, config.to_json(settings).encode())
        _wait_until_free(run, stop)
        run_command(["azo", "train", "--config", str(file)], job.log, job.log, stop)
        if not metrics.read(run, "end"):
            raise Failed(f"azo train stopped before the end of {run}")
        runs.append(run)
        left -= metrics.largest(metrics.read(run), _FIGURES[queue.limit.removeprefix("max_")])

    def play(opponent: str, *flags: str) -> elo.MatchResult:
        command = ["azo", "evaluate", _player(job, str(runs[-1])), opponent, *flags]
        command += [f"--opening-plies={queue.opening_plies}", f"--seed={job.seed}", "--json"]
        output = job.folder / "match.json"
        output.unlink(missing_ok=True)
        run_command(command, output, job.log, stop)
        try:
            return _MATCH.validate_json(output.read_bytes())
        except (OSError, ValueError):
            raise Failed(f"azo evaluate gave no result, see {output}") from None

    logs = [metrics.read(run) for run in runs]
    result = {
        name: sum(metrics.largest(log, field) for log in logs) for name, field in _FIGURES.items()
    }
    result["match"] = play(queue.opponent, f"--num-games={queue.num_games}")
    if queue.versus.max_games and other is not None:
        test = queue.versus
        flags = [f"--num-games={test.batch_games}", f"--sprt.max-games={test.max_games}"]
        flags += [f"--sprt.elo0={-test.elo}", f"--sprt.elo1={test.elo}"]
        result |= {"against": other.arm, "versus": play(_player(job, other.run), *flags)}
    return comparison.Result(
        arm=job.arm.name,
        seed=job.seed,
        run=str(runs[-1]),
        **result,
        request=dict(job.request),
        versions={name: shipped_files.version(name) for name in ("azo", "jax")},
    )


def _player(job: run_queue.Job, run: str) -> str:
    return f"network:{run}:{job.queue.num_simulations}"


def work_off(
    jobs: Sequence[run_queue.Job],
    path: pathlib.Path,
    results: Results,
    *,
    num_workers: int,
    stop: interruption.StopRequest,
) -> int:
    """Does jobs in their order, several at a time; returns how many fail, or their opponents do.

    Their results are added to those so far and to the file. A job that plays against another arm
    begins when the result of that arm is there. A failed job is reported and the others continue.
    Any other exception, such as that of a second Ctrl-C, stops them.
    """
    waiting, num_failed = list(jobs), 0
    running: dict[concurrent.futures.Future[comparison.Result], run_queue.Job] = {}
    with concurrent.futures.ThreadPoolExecutor(
        num_workers, initializer=_pin, initargs=(itertools.count(), num_workers)
    ) as pool:
        try:
            while True:
                while len(running) < num_workers and not stop.is_made:
                    if (job := _take(waiting, results)) is None:
                        break
                    other = results.get((job.arm.against, job.seed))
                    running[pool.submit(run_job, job, stop, other)] = job
                if not running:
                    break
                done, _ = concurrent.futures.wait(running, return_when="FIRST_COMPLETED")
                for future in done:
                    job = running.pop(future)
                    try:
                        result = future.result()
                    except Stopped:
                        continue
                    except Failed as error:
                        num_failed += 1
                        end = _end_of(job.log)
                        print(f"{job}: failed: {error}. The end of {job.log}:\n{end}", flush=True)
                        continue
                    results[job.arm.name, job.seed] = result
                    journal.append(path, result.model_dump_json())
                    print(f"{job}: {result.match} against {job.queue.opponent}", flush=True)
        except BaseException:
            stop.is_made = True
            raise
    if stop.is_made:
        return num_failed
    for job in waiting:
        print(f"{job}: failed: {job.arm.against} with seed {job.seed} has no result", flush=True)
    return num_failed + len(waiting)


def _take(waiting: list[run_queue.Job], results: Results) -> run_queue.Job | None:
    """Removes and returns the first job that can begin; removes those that are not needed."""
    for job in list(waiting):
        has_match = job.queue.versus.max_games and job.arm.against is not None
        if has_match and (job.arm.against, job.seed) not in results:
            continue
        waiting.remove(job)
        if job.arm.name in _needed_arms(job.queue.arms, results):
            return job
        print(f"{job}: skipped, its effect is known", flush=True)
    return None


def _needed_arms(arms: Sequence[run_queue.Arm], results: Results) -> set[str]:
    """Returns the arms without a known effect, and those that they are compared with."""
    gains = comparison.differences(results, arms)
    needed = {arms[0].name} if len(arms) == 1 else set()
    for arm in reversed(arms):  # an arm is compared with an earlier one
        is_known = arm.name in gains and gains[arm.name].verdict != "not known"
        if arm.against is not None and (arm.name in needed or not is_known):
            needed |= {arm.name, arm.against}
    return needed


def _pin(number: Iterator[int], num_workers: int) -> None:
    """Keeps the thread, and the child processes that it starts, on its share of the cores.

    The cores are dealt out. With more workers than cores some share a core.
    """
    if hasattr(os, "sched_setaffinity"):  # Linux; elsewhere the system chooses
        cores, place = sorted(os.sched_getaffinity(0)), next(number)
        os.sched_setaffinity(0, cores[place::num_workers] or [cores[place % len(cores)]])


def read_results(path: pathlib.Path, jobs: Iterable[run_queue.Job]) -> Results:
    """Returns the latest results so far; raises ValueError if a job's has other settings."""
    lines = journal.read(path, comparison.Result.model_validate_json)
    results: Results = {(result.arm, result.seed): result for result in lines}
    for job in jobs:
        result = results.get((job.arm.name, job.seed))
        stored = {} if result is None else result.request
        for name, value in job.request.items():
            if stored.get(name, value) != value:
                raise ValueError(
                    f"{path}: arm {job.arm.name!r} with seed {job.seed} has a result with {name}"
                    f" {stored[name]!r}, but the queue asks for {value!r}:"
                    " rename the arm, or give another --folder"
                )
    return results


def _end_of(log: pathlib.Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    return "\n".join(f"  {line}" for line in lines[-_LINES_OF_LOG:])
