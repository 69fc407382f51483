"""Fits multi-ProbCut and measures how often its scores are correct.

`python -m benchmarks.probcut fit SIZE normal|reversed` samples positions, solves them and writes
`azo/solver/host/probcut.json`. `python -m benchmarks.probcut measure FILE.obf.gz NUM` draws
positions from a file of exact scores and solves them with each confidence. Both take minutes.
"""

import json
import pathlib
import random
import sys

from azo.formats import score_files
from azo.solver.host import endgame, probcut

_SEED = 20


def fit(size: int, variant: str) -> None:
    """Fits one board size and variant, and adds the fit to the file."""
    num_positions = dict.fromkeys(range(6, 16), 600) | {16: 400, 17: 200, 18: 150}
    is_reversed = variant == "reversed"
    solver = endgame.Solver(size, is_reversed=is_reversed)
    solve = lambda *board: solver.solve(*board).score  # noqa: E731
    rows = probcut.fit(solve, size, num_positions, is_reversed=is_reversed, seed=_SEED)
    fits = json.loads(probcut.FILE.read_text()) if probcut.FILE.exists() else {}
    fits[probcut.name_of(size, is_reversed=is_reversed)] = rows
    lines = [
        f"  {json.dumps(name)}: [\n    " + ",\n    ".join(map(json.dumps, rows)) + "\n  ]"
        for name, rows in fits.items()
    ]
    probcut.FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    for row in rows:
        print({name: value for name, value in row.items() if name != "weights"})


def measure(path: pathlib.Path, num: int) -> None:
    """Prints a row for each confidence: accuracy, nodes and time."""
    problems = score_files.read(path)
    chosen = random.Random(_SEED).sample(problems, min(num, len(problems)))
    solver = endgame.Solver(8)
    print("confidence  score right  mean error  best move  nodes/position  s/position")
    for confidence in (0.9, 0.95, 0.98, 1.0):
        right = best = nodes = 0
        error = seconds = 0.0
        for problem in chosen:
            board = problem.board
            solution = solver.solve(board.player, board.opponent, confidence=confidence)
            expected = problem.best_score()
            assert expected is not None
            right += solution.score == expected
            error += abs(solution.score - expected)
            best += problem.move_scores.get(solution.best_move or 0) == expected
            nodes += solution.num_nodes
            seconds += solution.seconds
        n = len(chosen)
        print(
            f"{confidence:10.2f}  {right / n:11.3f}  {error / n:10.2f}  {best / n:9.3f}"
            f"  {nodes / n:14,.0f}  {seconds / n:10.3f}",
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1] == "fit":
        fit(int(sys.argv[2]), sys.argv[3])
    else:
        measure(pathlib.Path(sys.argv[2]), int(sys.argv[3]))
