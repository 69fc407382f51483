"""A queue of three arms and two seeds, with results that nobody trained for."""

import json

from azo.queues import comparison, queue_runner
from support.builders import tiny_run

HEAD = 'base = "tiny.toml"\nmax_evaluations = 1000\nseeds = [0, 1]\nopponent = "random"\n'
HEAD += "num_games = 4\nnum_simulations = 2\n"
ARMS = "".join(f'[[arms]]\nname = "{name}"\nquestion = "{name}?"\n' for name in "abc")


def write(folder, text=HEAD + ARMS):
    """Writes the queue and its settings; returns the path of the queue."""
    (folder / "tiny.toml").write_text(tiny_run.toml())
    path = folder / "queue.toml"
    path.write_text(text)
    return path


def line_of(job, wins=3, losses=1):
    """Returns a result as `run_job` would, for JSON."""
    return {
        "arm": job.arm.name,
        "seed": job.seed,
        "evaluations": 1120,
        "games": 40,
        "iterations": 7,
        "training_seconds": 1.5,
        "processor_seconds": 1.5,
        "run": str(job.folder / "run"),
        "match": {"wins": wins, "draws": 0, "losses": losses},
        "request": job.request,
        "versions": {},
    }


def result_of(job, *counts):
    return comparison.Result.model_validate(line_of(job, *counts), strict=False)


def keep(job, *counts):
    """Writes the result of a job, as `work_off` does."""
    job.folder.mkdir(parents=True, exist_ok=True)
    (job.folder / queue_runner.RESULT).write_text(json.dumps(line_of(job, *counts)))


def finished(jobs):
    """Returns arm and seed of the jobs that have a result."""
    return [(job.arm.name, job.seed) for job in jobs if (job.folder / queue_runner.RESULT).exists()]
