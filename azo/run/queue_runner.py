"""Works off a queue of runs: several at a time, each on its share of the cores.

A job trains by `azo train` and plays its final match by `azo evaluate`, as child processes. A
finished job adds one line to `results.jsonl` in the queue's folder. After a request to stop the
child processes save and end, and the same queue resumes them later.
"""

import concurrent.futures
import dataclasses
import json
import os
import pathlib
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from azo.measure import arena, comparison, journal
from azo.run import config, interruption, metrics, run_queue, shipped_files

RESULTS = "results.jsonl"
_LINES_OF_LOG = 8
_SECONDS_BETWEEN_CHECKS = 0.5

Result = dict[str, Any]


class Stopped(Exception):
    """A child process received a request to stop."""


class Failed(Exception):
    """A child process failed; the message says how."""


class Processes:
    """Child processes that run at the same time and are stopped together."""

    def __init__(self) -> None:
        """Begins without any process."""
        self._lock = threading.Lock()
        self._live: set[subprocess.Popen[str]] = set()
        self._is_stopping = False

    def run(
        self,
        arguments: Sequence[str],
        cores: Sequence[int],
        log: pathlib.Path,
        *,
        returns_output: bool = False,
    ) -> str:
        """Runs a Python module on some cores.

        Args:
          arguments: the module's name and its arguments.
          cores: all cores if empty.
          log: file to which the output is added.
          returns_output: return the standard output instead of adding it to the log.

        Raises:
          Failed: It ended with another exit code than 0.
          Stopped: `stop` was called before the end.
        """
        with log.open("a", encoding="utf-8") as output:
            with self._lock:
                if self._is_stopping:
                    raise Stopped
                # In a session of its own, so that Ctrl-C interrupts only this process.
                process = subprocess.Popen(
                    [sys.executable, "-m", *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE if returns_output else output,
                    stderr=output,
                    text=True,
                    start_new_session=True,
                )
                self._live.add(process)
            if cores and process.poll() is None:
                os.sched_setaffinity(process.pid, cores)
            text, _ = process.communicate()
        with self._lock:
            self._live.discard(process)
            if self._is_stopping:
                raise Stopped
        if process.returncode:
            raise Failed(f"{' '.join(arguments[:2])} ended with exit code {process.returncode}")
        return text or ""

    def stop(self) -> None:
        """Asks all processes once to save and end; no other process starts."""
        with self._lock:
            if self._is_stopping:
                return
            self._is_stopping = True
            for process in self._live:
                process.terminate()

    def kill(self) -> None:
        """Ends all processes at once."""
        self.stop()
        with self._lock:
            for process in self._live:
                process.kill()


# Does a job on some cores and returns its result; raises Failed or Stopped.
Runner = Callable[[run_queue.Job, Sequence[int]], Result]


@dataclasses.dataclass
class Outcome:
    """The end of the work on a queue."""

    num_failed: int = 0
    was_stopped: bool = False


def run_job(job: run_queue.Job, cores: Sequence[int], processes: Processes) -> Result:
    """Trains, or resumes training, and plays the final match; returns the line of results."""
    job.folder.mkdir(parents=True, exist_ok=True)
    budget = job.queue.max_evaluations
    runs: list[pathlib.Path] = []
    while len(runs) < job.num_phases and budget > 0:
        settings = job.phase(len(runs), budget)
        run = settings.run.folder
        file = run.with_name(f"{run.name}.json")
        file.write_text(config.to_json(settings), encoding="utf-8")
        processes.run(["azo", "train", "--config", str(file)], cores, job.log)
        if not metrics.read(run, "end"):
            raise Failed(f"azo train stopped before the end of {run}")
        runs.append(run)
        budget -= run_queue.evaluations_used(run)

    player = f"network:{runs[-1]}:{job.queue.num_simulations}"
    flags = ["--num-games", str(job.queue.num_games), "--seed", str(job.seed), "--json"]
    command = ["azo", "evaluate", player, job.queue.opponent, *flags]
    match = json.loads(processes.run(command, cores, job.log, returns_output=True))
    last = [metrics.read(run, "iteration")[-1] for run in runs]
    return {
        "arm": job.arm,
        "seed": job.seed,
        "evaluations": sum(map(run_queue.evaluations_used, runs)),
        "games": sum(event["selfplay/games"] for event in last),
        "iterations": sum(event["iteration"] for event in last),
        "training_seconds": sum(event["time/training_seconds"] for event in last),
        **{name: match[name] for name in ("wins", "draws", "losses", "score")},
        **job.request,
        "versions": {name: shipped_files.version(name) for name in ("azo", "jax")},
    }


def work_off(
    jobs: Sequence[run_queue.Job],
    run: Runner,
    results: pathlib.Path,
    *,
    num_workers: int,
    stop: interruption.StopRequest,
    processes: Processes,
) -> Outcome:
    """Does jobs in their order, several at a time, and adds their results to a file.

    A failed job is reported and the others continue. After a request to stop no job begins, and the
    child processes receive SIGTERM.
    """
    outcome = Outcome()
    shares: queue.SimpleQueue[list[int]] = queue.SimpleQueue()
    for cores in shares_of_cores(num_workers):
        shares.put(cores)

    def work(job: run_queue.Job) -> Result:
        if stop.is_made:
            raise Stopped
        cores = shares.get()
        try:
            print(
                f"{job}: begins on cores {', '.join(map(str, cores)) or 'of any number'}",
                flush=True,
            )
            return run(job, cores)
        finally:
            shares.put(cores)

    with concurrent.futures.ThreadPoolExecutor(num_workers) as pool:
        futures = {pool.submit(work, job): job for job in jobs}
        try:
            for future in _as_completed(futures, stop, processes):
                job = futures[future]
                try:
                    result = future.result()
                except Stopped:
                    continue
                except Failed as failure:
                    outcome.num_failed += 1
                    print(
                        f"{job}: failed: {failure}. The end of {job.log}:\n{_end_of(job.log)}",
                        flush=True,
                    )
                else:
                    append(results, result)
                    print(f"{job}: {describe(result)}", flush=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            processes.kill()
            raise
    outcome.was_stopped = stop.is_made
    if outcome.was_stopped:
        print("stopped and saved; the same command resumes", flush=True)
    return outcome


def _as_completed(
    futures: Iterable[concurrent.futures.Future[Result]],
    stop: interruption.StopRequest,
    processes: Processes,
) -> Iterator[concurrent.futures.Future[Result]]:
    """Yields futures as they complete, and passes a request to stop on to the processes."""
    pending = set(futures)
    while pending:
        done, pending = concurrent.futures.wait(
            pending, _SECONDS_BETWEEN_CHECKS, concurrent.futures.FIRST_COMPLETED
        )
        if stop.is_made:
            processes.stop()
        yield from (future for future in futures if future in done)


def shares_of_cores(num_workers: int) -> list[list[int]]:
    """Returns the cores of each worker, dealt out from those of this process.

    With more workers than cores some share a core. Where the system does not name the cores, the
    lists are empty.
    """
    if not hasattr(os, "sched_getaffinity"):
        return [[] for _ in range(num_workers)]
    cores = sorted(os.sched_getaffinity(0))
    return [cores[i::num_workers] or [cores[i % len(cores)]] for i in range(num_workers)]


def read_results(path: pathlib.Path, jobs: Iterable[run_queue.Job]) -> list[Result]:
    """Returns the results so far, without a last line that a crash truncated.

    Raises:
      ValueError: The result of one of the jobs has other settings.
    """
    results = [json.loads(line) for line in journal.read(path)]
    for job in jobs:
        result = result_of(job, results)
        for name, value in job.request.items() if result else ():
            if result[name] != json.loads(json.dumps(value)):
                raise ValueError(
                    f"{path}: arm {job.arm!r} with seed {job.seed} has a result with {name}"
                    f" {result[name]!r}, but the queue asks for {value!r}:"
                    " rename the arm, or give another --folder"
                )
    return results


def append(path: pathlib.Path, result: Result) -> None:
    """Adds one line to the file of results, on disk when this returns."""
    journal.append(path, json.dumps(result))


def result_of(job: run_queue.Job, results: Iterable[Result]) -> Any:
    """Returns the latest result of a job, None if it has none."""
    matching = [one for one in results if (one["arm"], one["seed"]) == (job.arm, job.seed)]
    return matching[-1] if matching else None


def table(jobs_queue: run_queue.Queue, results: Sequence[Result]) -> str:
    """Returns the Markdown table of all arms."""
    rows = []
    for arm in jobs_queue.arms:
        against = jobs_queue.against(arm)
        rows.append(comparison.Row(arm.name, arm.question, against.name if against else None))
    return comparison.table(results, rows, jobs_queue.seeds)


def status(job: run_queue.Job, results: Iterable[Result]) -> str:
    """Returns a line that says whether a job is done, begun or waiting."""
    result = result_of(job, results)
    if result is not None:
        return f"done     {job}: {describe(result)}"
    return f"{'begun  ' if job.folder.exists() else 'waiting'}  {job}"


def describe(result: Result) -> str:
    """Returns the result of a job in words."""
    match = arena.MatchResult(result["wins"], result["draws"], result["losses"])
    return (
        f"{match} against {result['opponent']} after {result['evaluations']:,} evaluations,"
        f" {result['games']:,} games, {result['training_seconds']:.0f} s"
    )


def _end_of(log: pathlib.Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    return "\n".join(f"  {line}" for line in lines[-_LINES_OF_LOG:])
