"""A queue of three arms and two seeds, with results that nobody trained for."""

import json

from support import tiny_run

HEAD = 'base = "tiny.toml"\nmax_evaluations = 1000\nseeds = [0, 1]\nopponent = "random"\n'
HEAD += "num_games = 4\nnum_simulations = 2\n"
ARMS = "".join(f'[[arms]]\nname = "{name}"\nquestion = "{name}?"\n' for name in "abc")


def write(folder):
    """Writes the queue and its settings; returns the path of the queue."""
    (folder / "tiny.toml").write_text(tiny_run.toml())
    path = folder / "queue.toml"
    path.write_text(HEAD + ARMS)
    return path


def line_of(job, wins=3):
    """Returns a result as `run_job` would."""
    return {
        "arm": job.arm,
        "seed": job.seed,
        "evaluations": 1120,
        "games": 40,
        "iterations": 7,
        "training_seconds": 1.5,
        "processor_seconds": 1.5,
        "run": str(job.folder / "run"),
        "wins": wins,
        "draws": 0,
        "losses": 4 - wins,
        "score": wins / 4,
        **job.request,
    }


def results(queue):
    path = queue.parent / "runs" / "results.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]
