"""Compares the human-like levels with numbered levels of equal strength.

python scripts/measure_levels.py WTHOR_FOLDER

For each rating, the script finds the numbered level whose score against the human-like level is
closest to a half. Then both choose moves in positions of players of about this rating since 2022,
which no fit has seen. The table has how often the likeliest move of a level is that of the player,
and the mean log-likelihood of the player's moves, with 2 % of random moves mixed into each level.
"""

import argparse
import pathlib

import fit_people
import measure_people
import numpy as np

from azo.engine import engine_factory, engine_settings, live_engine

_RANDOM = 0.02
_NEAR = 100  # ratings


def main() -> None:
    """Plays, chooses and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--num-games", type=int, default=200, help="of each match")
    parser.add_argument("--num-positions", type=int, default=1500, help="of each rating")
    options = parser.parse_args()
    games, rating, recent = fit_people.held_out_games(options.folder)
    rng = np.random.default_rng(0)
    print("| rating | moves | level, its score | predicted, by the level | log-likelihood |")
    print("| --- | ---: | --- | --- | --- |")
    for of in engine_settings.PEOPLE_RATINGS:
        like = engine_factory.load_engine(level=f"human:{of}", seed=of)
        level, score = _equal_level(like, options.num_games)
        numbered = engine_factory.load_engine(level=level)
        found = []
        for number in rng.permutation(recent):
            live = fit_people.replay(games[number], like.game)
            ply = int(rng.integers(len(live.actions)))
            board, action = live.boards[ply], live.actions[ply]
            mine = rating(number, 0 if board.is_black_to_move else 1)
            if abs(mine - of) > _NEAR or len(live.legal_actions_at(board)) < 2:
                continue
            for engine in (like, numbered):
                engine.new_game(board)
            by_people = {a: chance for a, (chance,) in like.chances([of]).items()}
            found.append([_found(x, action) for x in (by_people, _chances(numbered))])
            if len(found) == options.num_positions:
                break
        (hits, likelihood), (hits_level, likelihood_level) = np.mean(found, axis=0)
        print(
            f"| {of} | {len(found):,} | {level}, {score:.2f} | {hits:.3f}, {hits_level:.3f}"
            f" | {likelihood:.3f}, {likelihood_level:.3f} |",
            flush=True,
        )


def _equal_level(like: live_engine.Engine, num_games: int) -> tuple[int, float]:
    """Returns the numbered level that is as strong, and its score, by halving."""
    low, high, scores = 1, 14, {}
    while low <= high:
        level = (low + high) // 2
        scores[level] = _score(engine_factory.load_engine(level=level, seed=1), like, num_games)
        low, high = (low, level - 1) if scores[level] > 0.5 else (level + 1, high)
    return min(scores.items(), key=lambda one: abs(one[1] - 0.5))


def _score(engine: live_engine.Engine, other: live_engine.Engine, num_games: int) -> float:
    points = 0.0
    for number in range(num_games):
        is_black = number % 2 == 0
        live = measure_people.play(*((engine, other) if is_black else (other, engine)))
        points += (1 + np.sign(live.final_score()) * (1 if is_black else -1)) / 2
    return points / num_games


def _chances(engine: live_engine.Engine) -> dict[int, float]:
    """Returns how likely a numbered level plays each move: by visits, or the best."""
    report, temperature = engine.think(), engine.play_config.temperature
    visits = np.array([move.visits for move in report.moves], float)
    if temperature == 0 or report.source != "search" or not visits.any():
        return {move.action: float(move.action == report.action) for move in report.moves}
    weights = (visits / visits.max()) ** (1 / temperature)
    actions = [move.action for move in report.moves]
    return dict(zip(actions, (weights / weights.sum()).tolist(), strict=True))


def _found(chances: dict[int, float], action: int) -> tuple[float, float]:
    chance = (1 - _RANDOM) * chances[action] + _RANDOM / len(chances)
    return float(max(chances, key=chances.__getitem__) == action), float(np.log(chance))


if __name__ == "__main__":
    main()
