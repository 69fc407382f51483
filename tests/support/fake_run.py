"""A run's files with made-up but plausible numbers, for pictures of them."""

import json
import math
import pathlib

import numpy as np

GAMES = 40  # of an iteration


def events(num_iterations: int, *, num_generations: int = 1, seed: int = 0) -> list[dict]:
    """Returns the events of a run on 6x6 that learns."""
    rng = np.random.default_rng(seed)
    lines = []
    for iteration in range(1, num_iterations + 1):
        skill = iteration / num_iterations
        generation = (iteration - 1) * num_generations // num_iterations
        lines.append(
            {
                "event": "iteration",
                "iteration": iteration,
                "generation": generation,
                **_played(rng, iteration, skill),
                **_learned(rng, iteration, skill),
            }
        )
        if iteration % max(1, num_iterations // 10) == 0:
            score = 1 - 0.9 * math.exp(-4 * skill) + rng.normal(0, 0.02)
            match = {"opponent": "rollouts:100", "wins": 100, "draws": 8, "losses": 20}
            match |= {"score": score, "score_low": score - 0.04, "score_high": score + 0.03}
            lines.append(_event("evaluation", iteration, match))
            if num_generations > 1:
                gate = {"score": 0.55 + rng.normal(0, 0.06), "generation": generation}
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


def rated(number, *matches):
    """Returns the events of a rated generation: matches of 8 games by opponent and pairs won."""
    events = []
    for opponent, won in matches:
        kind = "earlier" if isinstance(opponent, int) else "opponent"
        fields = {kind: opponent, "wins": 2 * won, "draws": 0, "losses": 8 - 2 * won}
        fields["pair_scores"] = [4 - won, 0, 0, 0, won]
        named = {f"rating_match/{name}": value for name, value in fields.items()}
        events.append({"event": "rating_match", "iteration": number} | named)
    return [*events, {"event": "rating", "iteration": number, "rating/anchor": "random"}]


def _event(kind: str, iteration: int, fields: dict) -> dict:
    named = {f"{kind}/{name}": value for name, value in fields.items()}
    return {"event": kind, "iteration": iteration} | named


def _played(rng: np.random.Generator, iteration: int, skill: float) -> dict:
    wins, draws, losses = (
        int(x) for x in rng.multinomial(GAMES, [0.45 - 0.2 * skill, 0.05, 0.5 + 0.2 * skill])
    )
    return {
        "selfplay/games": GAMES * iteration,
        "selfplay/evaluations": 128 * 20 * 33 * iteration,
        "selfplay/mean_plies": 31 + skill + rng.normal(0, 0.1),
        "selfplay/first_player_score": (wins + draws / 2) / GAMES,
        "selfplay/first_player_wins": wins,
        "selfplay/draws": draws,
        "selfplay/first_player_losses": losses,
        "selfplay/resigned_share": 0.4 * skill,
        "selfplay/policy_entropy": 1.3 - 0.6 * skill + rng.normal(0, 0.02),
        "selfplay/prior_entropy": 1.6 - 0.7 * skill + rng.normal(0, 0.02),
        "selfplay/prior_divergence": 0.3 - 0.2 * skill + rng.normal(0, 0.01),
        "selfplay/legal_mass": 1 - 0.8 * math.exp(-10 * skill),
        "selfplay/value_error": rng.normal(0, 0.05),
        "selfplay/value_correlation": 0.2 + 0.5 * skill + rng.normal(0, 0.02),
        "selfplay/games_per_second": 25 + rng.normal(0, 1),
        "selfplay/simulations_per_second": 38_000 + rng.normal(0, 900),
    }


def _learned(rng: np.random.Generator, iteration: int, skill: float) -> dict:
    return {
        "learner/policy_loss": 1.6 - 0.6 * skill + rng.normal(0, 0.02),
        "learner/new_policy_loss": 1.65 - 0.55 * skill + rng.normal(0, 0.03),
        "learner/target_entropy": 1.2 - 0.5 * skill,
        "learner/value_loss": 0.9 - 0.3 * skill + rng.normal(0, 0.01),
        "learner/new_value_loss": 0.95 - 0.25 * skill + rng.normal(0, 0.02),
        "learner/entropy": 1.5 - 0.7 * skill,
        "learner/gradient_norm": 1.2 - 0.7 * skill + rng.normal(0, 0.05),
        "learner/learning_rate": 5e-3 * (1 + math.cos(math.pi * skill)) / 2,
        "replay/size": min(2560 * iteration, 100_000),
        "replay/age": min(iteration, 39) / 2,
        "replay/unique_share": 0.8 + 0.1 * skill,
        "resignation/threshold": -0.9 + 0.1 * skill,
        "resignation/false_positive_share": 0.05 * math.exp(-skill),
        "time/iteration_seconds": 1.7 + rng.normal(0, 0.03),
        "time/training_seconds": round(1.7 * iteration, 2),
    }
