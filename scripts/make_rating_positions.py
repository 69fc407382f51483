"""Makes the openings and positions by which training runs are measured.

`python scripts/make_rating_positions.py` writes `azo/matches/ratings.npz`. Openings are random
plies after which both sides have about equal chances by the engine, one of each set of symmetric
positions. Positions are from random games, with the exact score of each move.
"""

import jax
import numpy as np

import azo
from azo.games import othello
from azo.games.host import host_rules
from azo.matches import position_sets, ratings
from azo.matches.tournament import openings

_PLIES = {6: 6, 8: 8}
_NUM_DRAWN = {6: 7_000, 8: 20_000}
_NUM_OPENINGS = {6: 200, 8: 500}
_NETWORKS = {6: "zero-fast6", 8: "zero-fast"}
_NUM_SIMULATIONS = 1_000
_MAX_VALUE = 0.1  # of an opening, from -1 (lost) to 1 (won)
_NUM_POSITIONS = 512
_NUM_EMPTIES = 14


def main() -> None:
    """Makes both and writes the file."""
    stored = {}
    for size in _PLIES:
        game = othello.Othello(size)
        stored[f"openings{size}"] = np.array(balanced(game, size), np.uint8)
        print(f"{size}x{size}: {len(stored[f'openings{size}'])} openings", flush=True)
        positions = position_sets.of_random_games(
            game, jax.random.key(size), num_positions=_NUM_POSITIONS, num_empties=_NUM_EMPTIES
        )
        stored[f"positions{size}"] = np.asarray(game.pack(positions.position))
        scores = positions.move_utility
        stored[f"scores{size}"] = np.where(
            scores == position_sets.NO_UTILITY, ratings.ILLEGAL, scores
        ).astype(np.int8)
    np.savez_compressed(ratings.FILE, **stored)


def balanced(game: othello.Othello, size: int) -> list[tuple[int, ...]]:
    """Returns openings after which the engine sees a small difference."""
    engine = azo.load_engine(_NETWORKS[size], num_simulations=_NUM_SIMULATIONS)
    drawn = openings.random(
        game,
        jax.random.key(size),
        count=_NUM_DRAWN[size],
        plies=_PLIES[size],
        is_distinct=True,
    )
    seen: set[tuple[int, int]] = set()
    found: list[tuple[int, ...]] = []
    for actions in drawn:
        engine.new_game(actions=actions)
        board = engine.board
        position = min(host_rules.images(board.player, board.opponent, size))
        if engine.is_over or position in seen:
            continue
        seen.add(position)
        if abs(engine.think().value) <= _MAX_VALUE:
            found.append(actions)
        if len(found) == _NUM_OPENINGS[size]:
            break
    return found


if __name__ == "__main__":
    main()
