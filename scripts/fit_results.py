"""Fits how often players of a rating win from a position, by the score that the page shows.

python scripts/fit_results.py WTHOR_FOLDER

Positions are drawn from human games whose players are within 150 Elo of each other, by the ratings
of `fit_people.py`, and searched as the page does, without the solver. The expected share of the
points of the side to move is the logistic function of score * exp(w . basis), with a basis of the
rating and the empty squares. The weights are for `azo/web/static/results.js`. Games since 2022 are
held out; the table at the end is for these games.
"""

import argparse
import itertools
import pathlib

import fit_people
import numpy as np
import scipy.optimize

from azo.engine import engine_factory, engine_settings, live_engine

_MOST_APART = 150  # Elo
_HELD_OUT_YEAR = 2022
_MEAN, _UNIT = 1800, 200
_PENALTY = 1e-3
_BANDS = (-np.inf, 1600, 1800, 2000, np.inf)


def main() -> None:
    """Samples, searches, fits and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--num-games", type=int, default=4_000)
    parser.add_argument("--positions-per-game", type=int, default=3)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    games, names = fit_people.load_games(options.folder)
    rating = fit_people.ratings(games, len(names))
    known = np.flatnonzero(fit_people.are_people(games, names))
    config = engine_settings.EngineConfig(solve_empties=0, exact_empties=0, probe_nodes=0)
    engine = live_engine.Engine(engine_factory.load_engine().evaluator, config)
    limits = config.limits(is_analysis=True)
    rows = []  # score, empty squares, rating, points, year
    for number in rng.permutation(known):
        game, both = games[number], [rating(number, side) for side in (0, 1)]
        if abs(both[0] - both[1]) > _MOST_APART:
            continue
        if len(rows) >= options.num_games * options.positions_per_game:
            break
        live = fit_people.replay(game, engine.game)
        for ply in rng.choice(range(2, 56), options.positions_per_game, replace=False):
            if ply >= len(live.actions) or not live.legal_actions_at(live.boards[ply]):
                continue
            engine.new_game(live.boards[ply])
            report = engine.think(limits)
            sign = 1 if live.boards[ply].is_black_to_move else -1
            points = (1 + np.sign(sign * game["margin"])) / 2
            row = report.discs, engine.num_empties, np.mean(both), points, game["year"]
            rows.append(row)
    score, empties, mean, points, year = np.array(rows, float).T
    bases, is_held = basis(mean, empties), year >= _HELD_OUT_YEAR
    weights = _fit(score[~is_held], bases[~is_held], points[~is_held])
    print("weights:", np.round(weights, 4).tolist(), "of", (~is_held).sum(), "positions")
    found = chance(score, bases, weights)
    _table(found[is_held], mean[is_held], points[is_held])


def basis(rating: np.ndarray, empties: np.ndarray) -> np.ndarray:
    """Returns `[..., 5]`, the numbers that the logarithm of the slope is linear in."""
    skill, time = (rating - _MEAN) / _UNIT, (30 - empties) / 30
    return np.stack([np.ones_like(skill), skill, time, time**2, skill * time], axis=-1)


def chance(score: np.ndarray, bases: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns the expected share of the points."""
    return 1 / (1 + np.exp(-np.clip(score * np.exp(bases @ weights), -30, 30)))


def _fit(score: np.ndarray, bases: np.ndarray, points: np.ndarray) -> np.ndarray:
    def loss(weights: np.ndarray) -> float:
        found = np.clip(chance(score, bases, weights), 1e-9, 1 - 1e-9)
        log = points * np.log(found) + (1 - points) * np.log(1 - found)
        return -log.mean() + _PENALTY * weights @ weights / 2

    start = np.array([np.log(0.1), 0, 0, 0, 0])
    return scipy.optimize.minimize(loss, start, method="L-BFGS-B").x


def _table(found: np.ndarray, rating: np.ndarray, points: np.ndarray) -> None:
    """Prints the expected and the real share of points of held-out positions."""
    print("| rating | expected | positions | mean expected | points | standard error |")
    for low, high in itertools.pairwise(_BANDS):
        for least in np.arange(0, 1, 0.2):
            is_in = (rating >= low) & (rating < high) & (found >= least) & (found < least + 0.2)
            if not is_in.any():
                continue
            real, error = points[is_in].mean(), points[is_in].std() / np.sqrt(is_in.sum())
            shown = f"{found[is_in].mean():.3f} | {real:.3f} | {error:.3f}"
            print(f"| {low:.0f} to {high:.0f} | {least:.1f} | {is_in.sum()} | {shown} |")


if __name__ == "__main__":
    main()
