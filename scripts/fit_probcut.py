"""Fits the solver's estimate of scores.

`python scripts/fit_probcut.py SIZE normal|reversed` samples positions, solves them and writes
`azo/solver/host/probcut.json`. It takes minutes.
"""

import json
import random
import sys
from typing import Any

import numpy as np

from azo.games.host import host_rules, kernels
from azo.solver.host import endgame, probcut

_SEED = 20
_NUM_POSITIONS = dict.fromkeys(range(6, 16), 600) | {16: 400, 17: 200, 18: 150}
_RIDGE = 3.0

Position = tuple[np.uint64, np.uint64]


def fit(size: int, variant: str) -> None:
    """Fits one board size and variant, and adds the fit to the file."""
    is_reversed = variant == "reversed"
    rows = fit_rows(size, _NUM_POSITIONS, is_reversed=is_reversed)
    fits = json.loads(probcut.FILE.read_text()) if probcut.FILE.exists() else {}
    fits[probcut.board_name(size, is_reversed=is_reversed)] = rows
    lines = [
        f"  {json.dumps(name)}: [\n    " + ",\n    ".join(map(json.dumps, rows)) + "\n  ]"
        for name, rows in fits.items()
    ]
    probcut.FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def fit_rows(
    size: int, num_positions: dict[int, int], *, is_reversed: bool
) -> list[dict[str, Any]]:
    """Returns weights, a row for each number of empty squares.

    Args:
      size: rows of the board.
      num_positions: number of positions to sample and solve, by number of empty squares.
      is_reversed: whether fewer discs win.
    """
    rules = host_rules.make_rules(size, is_reversed=is_reversed)
    solver = endgame.Solver(size, is_reversed=is_reversed)
    samples = _sample(rules, num_positions)
    scores = {
        empties: np.array([rules.sign * solver.solve(*map(int, x)).score for x in positions])
        for empties, positions in samples.items()
    }
    weights: dict[int, np.ndarray] = {}
    for empties in num_positions:
        near = [e for e in (empties - 1, empties, empties + 1) if e in samples]
        X = np.array([_features(x, rules) for e in near for x in samples[e]])
        y = np.concatenate([scores[e] for e in near])
        ridge = _RIDGE * np.eye(X.shape[1])
        weights[empties] = np.linalg.solve(X.T @ X + ridge, X.T @ y)
    return [
        {
            "empties": empties,
            "num_positions": num_positions[empties],
            "weights": [round(float(weight), 4) for weight in weights[empties]],
        }
        for empties in sorted(num_positions)
    ]


def _sample(
    rules: host_rules.HostRules, num_positions: dict[int, int]
) -> dict[int, list[Position]]:
    """Returns positions of games, by number of empty squares."""
    rng = random.Random(_SEED)
    samples: dict[int, list[Position]] = {empties: [] for empties in num_positions}
    while any(len(samples[empties]) < num for empties, num in num_positions.items()):
        for empties, position in _sample_game(rules, rng):
            if len(samples.get(empties, ())) < num_positions.get(empties, 0):
                samples[empties].append(position)
    return samples


def _sample_game(rules: host_rules.HostRules, rng: random.Random) -> list[tuple[int, Position]]:
    """Returns the positions of one game with a legal move, and their numbers of empty squares.

    One move in three is uniformly random; the others leave the opponent the fewest replies. So the
    sample holds answers to good moves and refutations of bad ones, as a search does.
    """
    low = int(rules.num_squares**0.5) // 2 - 1
    P = np.uint64(1 << 9 * low + 1 | 1 << 9 * low + 8)
    O = np.uint64(1 << 9 * low | 1 << 9 * low + 9)
    empties = rules.num_squares - 4
    game: list[tuple[int, Position]] = []
    while True:
        children = _children(P, O, rules)
        if not children:
            P, O = O, P
            children = _children(P, O, rules)
            if not children:
                return game
        game.append((empties, (P, O)))
        if rng.random() < 1 / 3:
            P, O = rng.choice(children)
        else:
            P, O = min(children, key=lambda child: _num_replies(child, rules) + rng.random())
        empties -= 1


def _children(P: np.uint64, O: np.uint64, rules: host_rules.HostRules) -> list[Position]:
    legal = int(kernels.legal_moves(P, O, rules.on_board))
    squares = [np.uint64(square) for square in range(64) if legal >> square & 1]
    pairs = [kernels.play(P, O, square) for square in squares]
    return [(np.uint64(player), np.uint64(opponent)) for player, opponent in pairs]


def _num_replies(position: Position, rules: host_rules.HostRules) -> int:
    return int(kernels.legal_moves(*position, rules.on_board)).bit_count()


def _features(position: Position, rules: host_rules.HostRules) -> np.ndarray:
    moves = kernels.legal_moves(*position, rules.on_board)
    return np.array(probcut.features(*position, np.uint64(moves), rules))


if __name__ == "__main__":
    fit(int(sys.argv[1]), sys.argv[2])
