"""Works off a queue of runs, one job after the other.

A job trains by `azo train` and plays its matches by `azo evaluate`, as child processes: one against
the common opponent, and one against the arm that it is compared with. Its folder then has the
result, `result.json`. After a request to stop the child process saves and ends, and the same queue
resumes it later. Several processes may work off one queue: each job is locked.
"""

import contextlib
import pathlib
import subprocess
import sys
from collections.abc import Iterable, Sequence

import pydantic

from azo.matches import elo
from azo.process import interruption
from azo.queues import comparison, run_queue
from azo.queues.comparison import Results
from azo.settings import import_paths, shipped_files
from azo.storage import files, journal, locks
from azo.training import config, metrics

RESULT = "result.json"
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
    folder = log.parent
    # What this command was allowed to import is in files that the other reads.
    imports = [f"--allow-import={path}" for path in import_paths.allowed()]
    with files.open_log(output, folder) as output_file, files.open_log(log, folder) as log_file:
        # In a session of its own, so that Ctrl-C interrupts only this process.
        process = subprocess.Popen(
            [sys.executable, "-m", *command, *imports],
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


def run_job(job: run_queue.Job, stop: interruption.StopRequest) -> comparison.Result:
    """Trains, or resumes training, and plays the matches.

    Raises Failed or Stopped, as `run_command` does; Failed without a result of its opponent, too.
    """
    other = None if job.opponent is None else read_result(job.opponent)
    if job.opponent is not None and other is None:
        raise Failed(f"{job.opponent} has no result")
    print(f"{job}: begins", flush=True)
    files.make_folder(job.folder, job.root)
    queue, left = job.queue, job.queue.budget
    runs: list[pathlib.Path] = []
    while len(runs) < job.num_phases and left > 0:
        settings = job.phase(len(runs), left)
        run = settings.run.folder
        file = run.with_name(f"{run.name}.json")
        files.check_place(run, job.folder)
        files.write(file, config.to_json(settings).encode(), inside=job.folder)
        run_command(["azo", "train", "--config", str(file)], job.log, job.log, stop)
        if not metrics.read(run, "end"):
            raise Failed(f"azo train stopped before the end of {run}")
        runs.append(run)
        left -= metrics.largest(metrics.read(run), _FIGURES[queue.limit.removeprefix("max_")])

    def play(opponent: str, games: str) -> elo.MatchResult:
        command = ["azo", "evaluate", _player(job, str(runs[-1])), opponent, games]
        command += [f"--opening-plies={queue.opening_plies}", f"--seed={job.seed}", "--json"]
        output = job.folder / "match.json"
        files.write(output, b"", inside=job.folder)
        run_command(command, output, job.log, stop)
        try:
            return _MATCH.validate_json(files.read(output))
        except ValueError:
            raise Failed(f"azo evaluate gave no result, see {output}") from None

    logs = [metrics.read(run) for run in runs]
    result = {
        name: sum(metrics.largest(log, field) for log in logs) for name, field in _FIGURES.items()
    }
    result["match"] = play(queue.opponent, f"--num-games={queue.num_games}")
    if other is not None:
        games = f"--num-games={queue.versus_games}"
        result |= {"against": other.arm, "versus": play(_player(job, other.run), games)}
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


def work_off(jobs: Iterable[run_queue.Job], stop: interruption.StopRequest) -> int:
    """Does the jobs without a result in their order; returns how many still have none.

    Jobs that fail, and jobs that another process does, are reported and the others continue. Any
    other exception, such as that of a second Ctrl-C, stops the work.
    """
    num_open = 0
    for job in jobs:
        if stop.is_made:
            break
        try:
            files.check_place(job.folder, job.root)
            with locks.lock_folder(job.folder):
                files.remove_leftovers(job.folder)
                if read_result(job) is None:
                    result = run_job(job, stop)
                    content = result.model_dump_json().encode()
                    files.write(job.folder / RESULT, content, inside=job.folder)
                    print(f"{job}: {result.match} against {job.queue.opponent}", flush=True)
        except Stopped:
            break
        except locks.InUse as error:
            num_open += 1
            print(f"{job}: left out: {error}", flush=True)
        except Failed as error:
            num_open += 1
            print(f"{job}: failed: {error}. The end of {job.log}:\n{_end_of(job.log)}", flush=True)
    return num_open


def read_results(jobs: Iterable[run_queue.Job]) -> Results:
    """Returns the results so far; raises ValueError if a job's is of other settings, or damaged."""
    results = {(job.arm.name, job.seed): read_result(job) for job in jobs}
    return {key: result for key, result in results.items() if result is not None}


def read_result(job: run_queue.Job) -> comparison.Result | None:
    """Returns the result of a job, None without one; errors as of `read_results`."""
    path = job.folder / RESULT
    if not path.is_file():
        return None
    try:
        result = comparison.Result.model_validate_json(files.read(path))
    except files.Unreadable:
        raise
    except ValueError as error:
        raise ValueError(f"{path}: damaged ({journal.reason(error)}): remove it") from None
    for name, value in job.request.items():
        if result.request.get(name, value) != value:
            raise ValueError(
                f"{path}: a result with {name} {result.request[name]!r}, but the queue asks for"
                f" {value!r}: rename arm {job.arm.name!r}, or give another --folder"
            )
    return result


def _end_of(log: pathlib.Path) -> str:
    lines = files.read(log).decode(errors="replace").splitlines() if log.exists() else []
    return "\n".join(f"  {line}" for line in lines[-_LINES_OF_LOG:])
