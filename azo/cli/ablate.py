"""Compares recipes by equal runs and matches.

    azo ablate ablation --num-workers 2

QUEUE is the name of a shipped queue or the path of a TOML file. Each run has its share of the
cores and consists of the commands `azo train` and `azo evaluate`. A finished run adds one line to
FOLDER/results.jsonl. Ctrl-C saves the current runs, and the same command resumes them. `--list`
shows finished and waiting runs, `--table` the results so far.
"""

import concurrent.futures
import dataclasses
import importlib.metadata
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any

import pydantic
import rich.console
import rich.progress
import tyro

from azo.cli import command_line
from azo.measure import arena, comparison, journal
from azo.run import interruption, metrics, run_queue

_RESULTS = "results.jsonl"
_LINES_OF_LOG = 8
_SECONDS_BETWEEN_LOOKS = 0.5


class AblateConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Runs a queue of comparisons, or shows how far it is."""

    queue: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="QUEUE")]
    """Name of a shipped queue, or a TOML file; azo/run/run_queue.py lists its settings."""
    folder: pathlib.Path | None = None
    """Where runs and results go; runs/ and the name of the queue unless set."""
    num_workers: pydantic.PositiveInt = 2
    """Runs at a time; the cores are shared out among them."""
    table: bool = False
    """Only print the Markdown table of the results so far."""
    show_list: Annotated[bool, tyro.conf.arg(name="list")] = False
    """Only print what is done and what is next."""


class Stopped(Exception):
    """The command under way was told to stop."""


class Failed(Exception):
    """A command of a job ended badly; the message says how."""


class Commands:
    """Programs that run at the same time, and are stopped together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._live: set[subprocess.Popen[bytes]] = set()
        self._is_stopping = False

    def run(self, arguments: Sequence[str], cores: Sequence[int], log: pathlib.Path) -> None:
        """Runs a module of azo on some cores to its end, its output added to `log`.

        Raises:
          Failed: It ended with another exit code than 0.
          Stopped: `stop` was called before or meanwhile.
        """
        command = [sys.executable, "-m", "azo", *arguments]
        with log.open("ab") as output:
            with self._lock:
                if self._is_stopping:
                    raise Stopped
                # A session of its own: Ctrl-C reaches this program alone, which tells the others.
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                self._live.add(process)
            if cores and process.poll() is None:
                os.sched_setaffinity(process.pid, cores)
            code = process.wait()
        with self._lock:
            self._live.discard(process)
            if self._is_stopping:
                raise Stopped
        if code:
            raise Failed(f"{arguments[0]} ended with exit code {code}")

    def stop(self) -> None:
        """Asks all to save and end; none starts from now on."""
        with self._lock:
            self._is_stopping = True
            for process in self._live:
                process.terminate()

    def kill(self) -> None:
        self.stop()
        with self._lock:
            for process in self._live:
                process.kill()


# Does a job on some cores and returns its result; raises Failed or Stopped.
Runner = Callable[[run_queue.Job, Sequence[int]], dict[str, Any]]


def main(argv: Sequence[str]) -> int:
    """Works off the queue or shows it; returns the exit code, 1 if a job failed."""
    asked = command_line.parse(AblateConfig, argv, prog="azo ablate", description=__doc__)
    folder = asked.folder or pathlib.Path("runs") / asked.queue.stem
    queue, all_jobs = run_queue.load(asked.queue, folder)
    results = read_results(folder / _RESULTS, all_jobs)
    if asked.table:
        rows = [_row(queue, arm) for arm in queue.arms]
        print(comparison.table(results, rows, queue.seeds))
        return 0
    if asked.show_list:
        print("\n".join(_listed(job, results) for job in all_jobs))
        return 0
    waiting = [job for job in all_jobs if _result_of(job, results) is None]
    commands = Commands()
    with interruption.StopRequest() as stop:
        outcome = work_off(
            waiting,
            lambda job, cores: run_job(job, cores, commands),
            folder / _RESULTS,
            num_workers=asked.num_workers,
            stop=stop,
            commands=commands,
        )
    if outcome.was_stopped:
        return 130
    return 1 if outcome.num_failed else 0


def run_job(job: run_queue.Job, cores: Sequence[int], commands: Commands) -> dict[str, Any]:
    """Trains, or goes on training, and plays the final match; returns the result's line."""
    job.folder.mkdir(parents=True, exist_ok=True)
    left = job.queue.max_evaluations
    parts: list[pathlib.Path] = []
    while len(parts) < job.num_parts and left > 0:
        settings = job.part(len(parts), left)
        run = settings.run.folder
        file = run.with_name(f"{run.name}.toml")
        file.write_text(run_queue.to_toml(settings), encoding="utf-8")
        commands.run(["train", "--config", str(file)], cores, job.log)
        if not metrics.read(run, "end"):
            raise Failed(f"azo train stopped before the end of {run}")
        parts.append(run)
        left -= run_queue.evaluations_used(run)

    match = play_match(job, parts[-1], cores, commands)
    iterations = [metrics.read(part, "iteration")[-1] for part in parts]
    return {
        "arm": job.arm,
        "seed": job.seed,
        "evaluations": sum(run_queue.evaluations_used(part) for part in parts),
        "games": sum(last["selfplay/games"] for last in iterations),
        "iterations": sum(last["iteration"] for last in iterations),
        "training_seconds": sum(last["time/training_seconds"] for last in iterations),
        "wins": match.wins,
        "draws": match.draws,
        "losses": match.losses,
        "score": match.score,
        **job.asked,
        "versions": {name: _version(name) for name in ("azo", "jax")},
    }


def play_match(
    job: run_queue.Job, network: pathlib.Path, cores: Sequence[int], commands: Commands
) -> arena.MatchResult:
    """Plays the final match by `azo evaluate`, and reads its result from the job's log."""
    queue = job.queue
    player = f"network:{network}:{queue.num_simulations}"
    flags = ["--num-games", str(queue.num_games), "--seed", str(job.seed)]
    commands.run(["evaluate", player, queue.opponent, *flags], cores, job.log)
    shown = job.log.read_text(encoding="utf-8", errors="replace")
    found = re.findall(rf"^{re.escape(player)} against .*: (\d+)/(\d+)/(\d+) \(", shown, re.M)
    if not found:
        raise Failed("azo evaluate printed no result")
    return arena.MatchResult(*map(int, found[-1]))


@dataclasses.dataclass
class Outcome:
    """What became of a queue."""

    num_failed: int = 0
    was_stopped: bool = False


def work_off(
    waiting: Sequence[run_queue.Job],
    run: Runner,
    results: pathlib.Path,
    *,
    num_workers: int,
    stop: interruption.StopRequest,
    commands: Commands,
) -> Outcome:
    """Does the jobs in their order, `num_workers` at a time, and adds their results to a file.

    A job that fails is reported, and the others go on. After a request to stop no job is begun, and
    `commands` are told to end.
    """
    outcome = Outcome()
    console = rich.console.Console(highlight=False, markup=False, emoji=False)
    lock, line_up = threading.Lock(), iter(waiting)
    with rich.progress.Progress(console=console, disable=not console.is_terminal) as screen:
        whole = screen.add_task("all", total=len(waiting))
        running: dict[rich.progress.TaskID, run_queue.Job] = {}

        def say(text: str) -> None:
            screen.console.print(text, soft_wrap=True)

        def work(cores: Sequence[int]) -> None:
            while not stop.is_made:
                with lock:
                    job = next(line_up, None)
                    if job is None:
                        return
                    name = f"{job.arm}, seed {job.seed}"
                    task = screen.add_task(name, total=job.queue.max_evaluations)
                    running[task] = job
                say(f"{name}: begins on cores {', '.join(map(str, cores)) or 'of any number'}")
                try:
                    result = run(job, cores)
                except Stopped:
                    return
                except Failed as failure:
                    with lock:
                        outcome.num_failed += 1
                    say(f"{name}: failed: {failure}. The end of {job.log}:\n{_end_of(job.log)}")
                else:
                    with lock:
                        append(results, result)
                    say(f"{name}: {_described(result)}")
                finally:
                    with lock:
                        del running[task]
                        screen.remove_task(task)
                screen.advance(whole)

        with concurrent.futures.ThreadPoolExecutor(num_workers) as pool:
            futures = [pool.submit(work, cores) for cores in shares_of_cores(num_workers)]
            try:
                _watch(futures, screen, running, lock, stop, commands)
            except KeyboardInterrupt:
                commands.kill()
                raise
        for future in futures:
            future.result()
        outcome.was_stopped = stop.is_made
        if outcome.was_stopped:
            say("stopped and saved; the same command goes on")
    return outcome


def _watch(
    futures: Iterable[concurrent.futures.Future[None]],
    screen: rich.progress.Progress,
    running: dict[rich.progress.TaskID, run_queue.Job],
    lock: threading.Lock,
    stop: interruption.StopRequest,
    commands: Commands,
) -> None:
    """Shows how far the jobs are until all are done; passes a request to stop on."""
    was_told = False
    while concurrent.futures.wait(futures, timeout=_SECONDS_BETWEEN_LOOKS).not_done:
        if stop.is_made and not was_told:
            was_told = True
            commands.stop()
        if screen.disable:
            continue
        with lock:
            for task, job in running.items():
                runs = [path.parent for path in job.folder.glob(f"*/{metrics.FILE}")]
                screen.update(task, completed=sum(map(run_queue.evaluations_used, runs)))


def shares_of_cores(num_workers: int) -> list[list[int]]:
    """Returns the cores of each worker: shares of those of this process, dealt out in turn.

    More workers than cores share them; where the system cannot say, the lists are empty.
    """
    if not hasattr(os, "sched_getaffinity"):
        return [[] for _ in range(num_workers)]
    cores = sorted(os.sched_getaffinity(0))
    return [cores[i::num_workers] or [cores[i % len(cores)]] for i in range(num_workers)]


def read_results(path: pathlib.Path, asked: Sequence[run_queue.Job]) -> list[dict[str, Any]]:
    """Returns the results so far, without a last line that a crash cut short.

    Raises:
      ValueError: A result of one of the jobs asked for is of other settings.
    """
    results = [json.loads(line) for line in journal.read(path)]
    for job in asked:
        found = _result_of(job, results)
        for name, value in job.asked.items() if found else ():
            if found[name] != json.loads(json.dumps(value)):
                raise ValueError(
                    f"{path}: arm {job.arm!r} with seed {job.seed} has a result with {name}"
                    f" {found[name]!r}, but the queue asks for {value!r}:"
                    " rename the arm, or give another --folder"
                )
    return results


def append(path: pathlib.Path, result: dict[str, Any]) -> None:
    """Adds one line to the file of results, on disk when this returns."""
    journal.append(path, json.dumps(result))


def _result_of(job: run_queue.Job, results: Iterable[dict[str, Any]]) -> Any:
    """Returns the latest result of a job, None if it has none."""
    found = [one for one in results if (one["arm"], one["seed"]) == (job.arm, job.seed)]
    return found[-1] if found else None


def _row(queue: run_queue.Queue, arm: run_queue.Arm) -> comparison.Row:
    against = queue.against(arm)
    return comparison.Row(arm.name, arm.question, None if against is None else against.name)


def _listed(job: run_queue.Job, results: Iterable[dict[str, Any]]) -> str:
    result = _result_of(job, results)
    if result is not None:
        return f"done     {job.arm}, seed {job.seed}: {_described(result)}"
    state = "begun  " if job.folder.exists() else "waiting"
    return f"{state}  {job.arm}, seed {job.seed}"


def _described(result: dict[str, Any]) -> str:
    match = arena.MatchResult(result["wins"], result["draws"], result["losses"])
    return (
        f"{match} against {result['opponent']} after {result['evaluations']:,} evaluations,"
        f" {result['games']:,} games, {result['training_seconds']:.0f} s"
    )


def _end_of(log: pathlib.Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    return "\n".join(f"  {line}" for line in lines[-_LINES_OF_LOG:])


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
