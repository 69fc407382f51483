"""Compares the ratings that moves show, as the page estimates them, with those of the players.

python scripts/measure_ratings.py WTHOR_FOLDER

Games are human games since 2022, whose moves no fit has seen. The rating of one side is
estimated by its moves in one, three or ten games; the page has the same formula, in `people.js`.
"""

import argparse
import collections
import pathlib

import fit_people
import numpy as np

from azo.engine import engine_factory, engine_settings

_GRID = np.arange(1400, 2401, 20)
_PRIOR = 1800, 300
_TAIL = 0.1
_LEAST = 1e-3


def main() -> None:
    """Estimates and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--num-games", type=int, default=700)
    options = parser.parse_args()
    games, rating, recent = fit_people.held_out_games(options.folder)
    engine, by_player = engine_factory.load_engine(), collections.defaultdict(list)
    for number in np.random.default_rng(0).permutation(recent)[: options.num_games]:
        live = fit_people.replay(games[number], engine.game)
        fits = np.zeros((2, len(_GRID)))
        for board, action in zip(live.boards, live.actions, strict=False):
            if len(live.legal_actions_at(board)) > 1:
                engine.new_game(board)
                chances = engine.chances(engine_settings.PEOPLE_RATINGS)[action]
                known = np.interp(_GRID, engine_settings.PEOPLE_RATINGS, chances)
                fits[0 if board.is_black_to_move else 1] += np.log(np.maximum(known, _LEAST))
        for side, player in enumerate(games["players"][number]):
            by_player[player].append((fits[side], rating(number, side)))
    print("| games | estimates | correlation | mean error | deviation | in the interval | width |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for size in (1, 3, 10):
        found = np.array(
            [
                (*_estimate(sum(fit for fit, _ in part)), np.mean([mine for _, mine in part]))
                for played in by_player.values()
                for part in (played[i : i + size] for i in range(0, len(played) - size + 1, size))
            ]
        )
        if not found.size:  # nobody played as many games
            continue
        middle, low, high, true = found.T
        true = np.clip(true, _GRID[0], _GRID[-1])
        error, inside = middle - true, (low <= true) & (true <= high)
        print(
            f"| {size} | {len(found)} | {np.corrcoef(middle, true)[0, 1]:.2f} | {error.mean():+.0f}"
            f" | {error.std():.0f} | {inside.mean():.0%} | {(high - low).mean():.0f} |"
        )


def _estimate(fit: np.ndarray) -> list[float]:
    log = fit - ((_GRID - _PRIOR[0]) / _PRIOR[1]) ** 2 / 2
    share = np.exp(log - log.max()).cumsum()
    return [_GRID[np.searchsorted(share, part * share[-1])] for part in (0.5, _TAIL, 1 - _TAIL)]


if __name__ == "__main__":
    main()
