"""Makes the opening positions to practise, `azo/web/static/openings.json`.

python scripts/make_openings.py

One side, black or white, loses at most a disc per move; the other replies with human-like moves.
A position in which that side is to move is taken if it is reached often enough. It has the most
likely moves to it, the best move, the discs that each move loses, and how often it is reached
against people rated 1400, 1600, ..., 2400. Positions that a symmetry of the board makes equal are
one.
"""

import argparse
import collections
import json
import pathlib

import numpy as np

from azo.engine import engine_factory, engine_settings
from azo.games import board_symmetry, notation
from azo.games.host import live_game

RATINGS = engine_settings.PEOPLE_RATINGS
_MOST_LOST = 1.0  # discs, of a good move
_MOST_PLIES = 16
_PLACE = pathlib.Path("azo/web/static/openings.json")


def main() -> None:
    """Follows lines, searches and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--least", type=float, default=0.005, help="chance of a position")
    parser.add_argument("--num-simulations", type=int, default=2000, help="of a position")
    options = parser.parse_args()
    engine = engine_factory.load_engine(num_simulations=options.num_simulations)
    found = [
        card
        for is_black in (True, False)
        for card in _Side(engine, is_black, options.least).cards()
    ]
    found.sort(key=lambda card: -max(card["people"]))
    lines = ",\n".join(json.dumps(card) for card in found)
    _PLACE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


class _Side:
    """The positions of one side, ply by ply: those of a ply are merged before the next one."""

    def __init__(self, engine, is_black: bool, least: float):
        self._engine, self._is_black, self._least = engine, is_black, least

    def cards(self):
        """Yields the positions to practise."""
        start = live_game.replay("f5", self._engine.game)  # all first moves are equal
        level = {_key(start.board): (start.actions, np.ones(len(RATINGS)))}
        for _ in range(1, _MOST_PLIES):
            later = collections.defaultdict(list)
            for actions, reach in level.values():
                self._engine.new_game(start.start, actions)
                is_own = self._engine.board.is_black_to_move == self._is_black
                losses = self._losses() if is_own else {}
                if is_own:
                    yield _card(actions, losses, reach)
                for action, chance in self._chances(losses).items():
                    self._engine.new_game(start.start, (*actions, action))
                    later[_key(self._engine.board)].append((self._engine.actions, reach * chance))
            merged = {
                key: (max(ways, key=lambda way: way[1].max())[0], sum(way[1] for way in ways))
                for key, ways in later.items()
            }
            level = {key: way for key, way in merged.items() if way[1].max() >= self._least}
            print("black" if self._is_black else "white", len(level), flush=True)

    def _losses(self) -> dict[int, float]:
        """Returns the discs that each tried move loses."""
        limits = engine_settings.Limits(self._engine.config.num_simulations, is_analysis=True)
        report = self._engine.think(limits)
        known = {move.action: move.discs for move in report.moves if move.discs is not None}
        best = known[report.action]
        return {action: max(best - discs, 0.0) for action, discs in known.items()}

    def _chances(self, losses: dict[int, float]) -> dict[int, np.ndarray]:
        """Returns the chance `[6]` of each move by people, or of the good ones among them."""
        by_action = self._engine.chances(RATINGS)
        good = [action for action, loss in losses.items() if loss <= _MOST_LOST] or by_action
        chances = {a: np.array(by_action[a]) for a in good}
        return {a: chance / sum(chances.values()) for a, chance in chances.items()}


def _card(actions, losses: dict[int, float], reach: np.ndarray) -> dict:
    names = {notation.action_text(a, 8): round(loss, 1) for a, loss in losses.items()}
    return {
        "moves": [notation.action_text(a, 8) for a in actions],
        "best": min(names, key=names.__getitem__),
        "losses": dict(sorted(names.items(), key=lambda move: move[1])),
        "people": [round(float(chance), 3) for chance in reach],
    }


def _key(board: notation.Board) -> str:
    squares = np.array(list(notation.board_text(board, 8)[:64]))
    return min("".join(squares[way]) for way in board_symmetry.square_permutations(8))


if __name__ == "__main__":
    main()
