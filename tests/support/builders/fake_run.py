"""A run's files with made-up numbers."""

import json
import pathlib
import re

import numpy as np

from azo.report import figures

GAMES = 40  # of an iteration


def events(num_iterations: int, *, num_generations: int = 1, seed: int = 0) -> list[dict]:
    """Returns the events of a run on 6x6, with all fields that the figures show."""
    rng = np.random.default_rng(seed)
    names = re.findall(r'"(\w+/\w+)"', figures.FILE.read_text(encoding="utf-8"))
    lines = []
    for iteration in range(1, num_iterations + 1):
        generation = (iteration - 1) * num_generations // num_iterations
        line = {"event": "iteration", "iteration": iteration, "generation": generation}
        line |= {name: rng.random() for name in names}
        line |= {
            "selfplay/games": GAMES * iteration,
            "selfplay/evaluations": 128 * 20 * 33 * iteration,
            "replay/size": 2560 * iteration,
            "time/training_seconds": round(1.7 * iteration, 2),
        }
        lines.append(line)
        if iteration % max(1, num_iterations // 10) == 0:
            score = 0.04 + 0.9 * rng.random()
            match = {"opponent": "rollouts:100", "wins": 100, "draws": 8, "losses": 20}
            match |= {"score": score, "score_low": score - 0.04, "score_high": score + 0.03}
            lines.append(_event("evaluation", iteration, match))
            if num_generations > 1:
                gate = {"score": rng.random(), "generation": generation}
                gate["is_promoted"] = gate["score"] > 0.55
                lines.append(_event("gate", iteration, gate))
    return lines


def write(folder: pathlib.Path, lines: list[dict]) -> None:
    """Writes a run's metrics and settings, without a network."""
    folder.mkdir(parents=True)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "metrics.jsonl").write_text(text, encoding="utf-8")
    settings = {"game": {"name": "othello", "size": 6}}
    (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")


def iteration(number, **fields):
    return {"event": "iteration", "iteration": number} | fields


def rated(number, elo=100.0, **fields):
    """Returns the event of a rated network."""
    measured = {"elo": elo, "elo_low": elo - 50, "elo_high": elo + 50, "discs_lost": 1.5}
    measured["summary"] = f"Elo {elo:.0f} +- 50: above random; loses 1.50 discs per move"
    clocks = {"time/rating_seconds": 2.0, "time/minutes": number / 10}
    met = {"rating/opponents": ["random", "alphabeta:2"], "rating/opponents_elo": [-643.0, -139.0]}
    met["rating/results"] = [[32, 0, 0], [20, 2, 10]]
    named = {f"rating/{name}": value for name, value in measured.items()}
    return {"event": "rating", "iteration": number} | named | clocks | met | fields


def _event(kind: str, iteration: int, fields: dict) -> dict:
    named = {f"{kind}/{name}": value for name, value in fields.items()}
    return {"event": kind, "iteration": iteration} | named
