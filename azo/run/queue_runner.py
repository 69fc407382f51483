"""Works off a queue of runs: several at a time, each on its share of the cores.

A job trains by `azo train` and plays its matches by `azo evaluate`, as child processes: one against
the common opponent, and one against the arm that it is compared with. A finished job adds one line
to `results.jsonl` in the queue's folder. A job is skipped once the effects of its arm, and of all
arms that are compared with it, are known. After a request to stop the child processes save and end,
and the same queue resumes them later.
"""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import queue
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from azo.formats import files, locks
from azo.measure import arena, comparison, journal
from azo.run import config, interruption, metrics, run_queue, shipped_files

RESULTS = "results.jsonl"
_LINES_OF_LOG = 8
_SECONDS_BETWEEN_CHECKS = 0.5

# Fields of a result that tables and later jobs need.
_NEEDED = {"arm", "seed", "run", "evaluations", "games", "wins", "draws", "losses", "score"}

Result = dict[str, Any]
Results = dict[tuple[str, int], Result]  # by arm and seed


class Failed(Exception):
    """A child process failed; the message says how."""


class Stopped(Exception):
    """A request to stop came before the end of a job."""


def run_command(
    command: Sequence[str], output: pathlib.Path, log: pathlib.Path, stop: interruption.StopRequest
) -> None:
    """Runs a Python module as a child process.

    Args:
      command: the module's name and its arguments.
      output: file to which the standard output is added.
      log: file to which the standard error is added.
      stop: after this request the process receives SIGTERM once, and saves.

    Raises:
      Failed: It ended with another exit code than 0.
      Stopped: The request came before the end.
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
    job: run_queue.Job, stop: interruption.StopRequest, against: Callable[[], Result | None]
) -> Result:
    """Trains, or resumes training, and plays the matches; returns the line of results.

    Args:
      job: an arm and a seed.
      stop: the request to stop.
      against: waits for the result of the arm that it is compared with; None without such an arm.

    Raises:
      Failed: A command failed, or the other arm has no result.
      Stopped: The request came before the end.
    """
    if stop.is_made:
        raise Stopped
    print(f"{job}: begins", flush=True)
    job.folder.mkdir(parents=True, exist_ok=True)
    left = job.queue.budget
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
        left -= run_queue.used(run, job.queue.limit)

    last = [metrics.read(run, "iteration")[-1] for run in runs]
    result = {
        "arm": job.arm,
        "seed": job.seed,
        "run": str(runs[-1]),
        "evaluations": sum(run_queue.used(run, "max_evaluations") for run in runs),
        "games": sum(event["selfplay/games"] for event in last),
        "iterations": sum(event["iteration"] for event in last),
        "training_seconds": sum(event["time/training_seconds"] for event in last),
        "processor_seconds": sum(run_queue.used(run, "max_processor_seconds") for run in runs),
    }
    games = ["--num-games", str(job.queue.num_games)]
    result |= _match(job, result, job.queue.opponent, games, stop)
    versus = job.queue.versus
    if versus.max_games and (other := against()) is not None:
        test = {"elo0": -versus.elo, "elo1": versus.elo, "max-games": versus.max_games}
        games = ["--num-games", str(versus.batch_games)]
        games += [f"--sprt.{name}={value}" for name, value in test.items()]
        match = _match(job, result, _player(job, other), games, stop)
        result["versus"] = {"against": other["arm"], **match}
    return {
        **result,
        **job.request,
        "versions": {name: shipped_files.version(name) for name in ("azo", "jax")},
    }


def _match(
    job: run_queue.Job,
    result: Result,
    opponent: str,
    flags: Sequence[str],
    stop: interruption.StopRequest,
) -> Result:
    """Returns the result of a match of the job's network, as counts and score."""
    plies = str(job.queue.opening_plies)
    command = ["azo", "evaluate", _player(job, result), opponent, *flags]
    command += ["--opening-plies", plies, "--seed", str(job.seed), "--json"]
    output = job.folder / "match.json"
    output.unlink(missing_ok=True)
    run_command(command, output, job.log, stop)
    match = json.loads(output.read_text(encoding="utf-8"))
    return {name: match[name] for name in ("wins", "draws", "losses", "score", "pair_scores")}


def _player(job: run_queue.Job, result: Result) -> str:
    return f"network:{result['run']}:{job.queue.num_simulations}"


def work_off(
    jobs: Sequence[run_queue.Job],
    path: pathlib.Path,
    results: Results,
    *,
    num_workers: int,
    stop: interruption.StopRequest,
) -> int:
    """Does jobs in their order, several at a time, and adds their results to a file.

    A failed job is reported and the others continue. Any other exception, such as that of a second
    Ctrl-C, stops them.

    Args:
      jobs: jobs without a result.
      path: the file.
      results: those so far, to which new ones are added.
      num_workers: jobs at a time.
      stop: the request to stop.

    Returns:
      The number of failed jobs.
    """
    num_failed = 0
    futures: dict[concurrent.futures.Future[Result | None], run_queue.Job] = {}

    def do(job: run_queue.Job, other: concurrent.futures.Future[Result | None] | None) -> Any:
        def against() -> Result | None:
            if job.against is None:
                return None
            found = results.get((job.against, job.seed)) or (other and other.result())
            if not found:
                raise Failed(f"{job.against} with seed {job.seed} has no result")
            return found

        if not _is_needed(job, results):
            return None
        results[job.arm, job.seed] = result = run_job(job, stop, against)
        return result

    shares: queue.SimpleQueue[list[int]] = queue.SimpleQueue()
    for cores in shares_of_cores(num_workers):
        shares.put(cores)
    with concurrent.futures.ThreadPoolExecutor(
        num_workers, initializer=_pin, initargs=(shares,)
    ) as pool:
        by_arm: dict[tuple[str | None, int], concurrent.futures.Future[Result | None]] = {}
        for job in jobs:
            future = pool.submit(do, job, by_arm.get((job.against, job.seed)))
            by_arm[job.arm, job.seed], futures[future] = future, job
        try:
            for future in concurrent.futures.as_completed(futures):
                job = futures[future]
                try:
                    result = future.result()
                except Stopped:  # waiting jobs stop likewise; if cancelled, they would never end
                    continue
                except Failed as error:
                    num_failed += 1
                    print(
                        f"{job}: failed: {error}. The end of {job.log}:\n{_end_of(job.log)}",
                        flush=True,
                    )
                else:
                    if result is None:
                        print(f"{job}: skipped, its effect is known", flush=True)
                        continue
                    journal.append(path, json.dumps(result))
                    match = arena.MatchResult(result["wins"], result["draws"], result["losses"])
                    print(f"{job}: {match} against {result['opponent']}", flush=True)
        except BaseException:
            stop.is_made = True
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return num_failed


def shares_of_cores(num_workers: int) -> list[list[int]]:
    """Returns the cores of each worker, dealt out from those of this process.

    With more workers than cores some share a core.
    """
    if not hasattr(os, "sched_getaffinity"):  # not Linux: the system chooses
        return [[] for _ in range(num_workers)]
    cores = sorted(os.sched_getaffinity(0))
    return [cores[i::num_workers] or [cores[i % len(cores)]] for i in range(num_workers)]


def read_results(path: pathlib.Path, jobs: Iterable[run_queue.Job]) -> Results:
    """Returns the latest results so far; see `journal.read` for damaged lines.

    Raises:
      ValueError: The result of one of the jobs has other settings.
    """
    results = dict(journal.read(path, _parse_result))
    for job in jobs:
        result = results.get((job.arm, job.seed), {})
        for name, value in job.request.items() if result else ():
            if name in result and result[name] != json.loads(json.dumps(value)):
                raise ValueError(
                    f"{path}: arm {job.arm!r} with seed {job.seed} has a result with {name}"
                    f" {result[name]!r}, but the queue asks for {value!r}:"
                    " rename the arm, or give another --folder"
                )
    return results


def _parse_result(line: str) -> tuple[tuple[str, int], Result]:
    result = json.loads(line)
    missing = _NEEDED - result.keys()
    if missing:
        raise ValueError(f"not a result: no {min(missing)}")
    return (result["arm"], result["seed"]), result


def table(jobs_queue: run_queue.Queue, results: Results) -> str:
    """Returns the Markdown table of all arms."""
    return comparison.table(results.values(), jobs_queue.comparisons, jobs_queue.seeds)


def _is_needed(job: run_queue.Job, results: Results) -> bool:
    """Returns whether the effect of an arm, or of one that is compared with it, is not known."""
    comparisons = job.queue.comparisons
    # A copy, since other threads add results.
    effects = comparison.differences(list(results.values()), comparisons)

    def is_needed(arm: str, against: str | None) -> bool:
        dependents = [(name, arm) for name, _, other in comparisons if other == arm]
        if any(is_needed(*dependent) for dependent in dependents):
            return True
        if against is None:
            return not dependents
        return arm not in effects or effects[arm].verdict == "not known"

    return is_needed(job.arm, job.against)


def _pin(shares: queue.SimpleQueue[list[int]]) -> None:
    """Keeps the thread, and the child processes that it starts, on the next share of the cores."""
    if cores := shares.get():
        os.sched_setaffinity(0, cores)


def _end_of(log: pathlib.Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    return "\n".join(f"  {line}" for line in lines[-_LINES_OF_LOG:])
