"""Makes the endings to practise, `azo/web/static/endings.json`, from games of azo with itself.

python scripts/make_endings.py --seed 0

Games begin with random moves, so that endings differ; then both sides search a little, without the
solver. Of each game at most one position is taken: one with a single winning move by the solver.
An ending has its board, the winning move, the discs that each move loses, the surprise of the
network, minus the logarithm of its probability of that move, and how often people rated 1400, 1600,
..., 2400 find it. The least surprising come first.
"""

import argparse
import collections
import json
import math
import pathlib

import numpy as np

from azo.engine import engine_factory, engine_settings
from azo.games import notation
from azo.games.host import live_game
from azo.solver.host import endgame

_FEWEST, _MOST = 6, 20  # empty squares
_FEWEST_MOVES = 3
_OPENING_PLIES = (8, 20)
_PLACE = pathlib.Path("azo/web/static/endings.json")


def main() -> None:
    """Plays, solves and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--per-number", type=int, default=20, help="endings of each number of empty squares"
    )
    options = parser.parse_args()
    engine = engine_factory.load_engine(num_simulations=24, solve_empties=0, score_empties=0)
    solver, rng, found = endgame.Solver(8), np.random.default_rng(options.seed), []
    left = collections.Counter(dict.fromkeys(range(_FEWEST, _MOST + 1), options.per_number))
    while left := +left:
        live = live_game.LiveGame(engine.game)
        opening, ending = rng.integers(*_OPENING_PLIES), None
        while not live.is_over and live.num_empties >= min(left) and not ending:
            if live.num_empties in left and len(live.legal_actions) >= _FEWEST_MOVES:
                ending = _ending(live, solver)
            if not ending:
                _move(live, engine, rng if len(live.actions) < opening else None)
        if ending:
            left[live.num_empties] -= 1
            found.append(ending | _surprise(engine, live.board, ending["best"]))
            print(live.num_empties, ending["best"], left.total(), flush=True)
    found.sort(key=lambda ending: ending["surprise"])
    lines = ",\n".join(json.dumps(ending) for ending in found)
    _PLACE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def _move(live: live_game.LiveGame, engine, rng: np.random.Generator | None) -> None:
    """Plays a random move, or that of the engine."""
    if rng is not None:
        return live.play(int(rng.choice(live.legal_actions)))
    engine.new_game(live.start, live.actions)
    return live.play(engine.think().action)


def _ending(live: live_game.LiveGame, solver: endgame.Solver) -> dict | None:
    """Returns a position with one winning move among several, None if it is another one."""
    num_wins = 0
    for action in live.legal_actions:
        live.play(action)
        reply = solver.solve(live.board.player, live.board.opponent, result_only=True)
        live.undo()
        num_wins += reply.upper < 0
        if num_wins > 1:
            return None
    if num_wins == 0:
        return None
    board = live.board
    scores = solver.solve(board.player, board.opponent, every_move=True).move_scores
    best = max(scores, key=scores.__getitem__)
    losses = {notation.action_text(a, 8): scores[best] - score for a, score in scores.items()}
    start = notation.board_text(board, 8)
    return {"start": start, "best": notation.action_text(best, 8), "losses": losses}


def _surprise(engine, board: notation.Board, best: str) -> dict:
    """Returns how surprised the network is of the best move, and how often people find it."""
    engine.new_game(board)
    moves = engine.think(engine_settings.Limits(1, is_analysis=True)).moves
    priors = {notation.action_text(move.action, 8): move.prior for move in moves}
    action = notation.parse_moves(best, 8)[0]
    people = [round(chance, 3) for chance in engine.chances(engine_settings.PEOPLE_RATINGS)[action]]
    return {"surprise": round(-math.log(max(priors[best], 1e-4)), 2), "people": people}


if __name__ == "__main__":
    main()
