"""How players of a rating move: probabilities learned from their games, for human-like opponents.

The probability of a move is a softmax over its features: the network's policy, the kind of the
square, and two estimates of the discs that the move loses. One estimate is the network's score
without a search. The other comes from a short search, or with few empty squares from the solver.
The weights of the features depend on the rating and the ply. `scripts/fit_people.py` fits them to
games of people; nothing else here was learned from such games. docs/notebook/people.md says how
well they hold.
"""

import functools
import importlib.resources
import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from azo.engine import engine_settings, live_search
from azo.games import notation
from azo.games.host import host_rules
from azo.solver.host import endgame

SOLVED_EMPTIES = 10
"""With at most this many empty squares, losses are exact."""
_MOST_MOVES = 40  # positions of a request, the board and those after its moves
_SIMULATIONS = 256  # of a search for what people see who read ahead
_MEAN, _UNIT = 1800, 200  # of ratings
_MOST_LOST = 20.0  # discs; more makes no difference


class _Weights(NamedTuple):
    middle: np.ndarray  # [K, 6] of each feature, by `basis`
    late: np.ndarray  # [K, 6], with at most SOLVED_EMPTIES empty squares


class People:
    """Knows how people move; the network must be one for 8x8. Not for several threads at once."""

    def __init__(self, evaluator: live_search.Evaluator, solver: endgame.Solver):
        """Prepares a separate search."""
        self._evaluator, self._solver = evaluator, solver
        self._search = live_search.LiveSearch(
            evaluator, engine_settings.for_analysis(engine_settings.EngineConfig())
        )

    def chances(self, board: notation.Board, ratings: Sequence[float]) -> dict[int, list[float]]:
        """Returns the chances of each legal action, by rating."""
        actions, values, num_empties = self.features(board)
        weights = _weights().late if num_empties <= SOLVED_EMPTIES else _weights().middle
        bases = np.stack([basis(rating, num_empties) for rating in ratings], axis=1)
        logits = values @ (weights @ bases)  # [actions, ratings]
        chance = np.exp(logits - logits.max(axis=0))
        return dict(zip(actions, (chance / chance.sum(axis=0)).tolist(), strict=True))

    def features(self, board: notation.Board) -> tuple[tuple[int, ...], np.ndarray, int]:
        """Returns the legal actions, their features `[n, K]`, and the number of empty squares."""
        size = self._evaluator.game.size
        rules = host_rules.make_rules(size, is_reversed=self._evaluator.game.is_reversed)
        sides = np.uint64(board.player), np.uint64(board.opponent)
        actions = host_rules.legal_actions(board.player, board.opponent, size, rules)
        after = [host_rules.after(*sides, action, size) for action in actions]
        players, opponents = np.array([sides, *after], np.uint64).T
        predictions = np.asarray(
            self._evaluator.request(players.copy(), opponents.copy(), batch_size=_MOST_MOVES)
        )
        policy = predictions[0, list(actions)]
        num_empties = size**2 - (board.player | board.opponent).bit_count()
        seen = -predictions[1 : 1 + len(actions), -1] * size**2
        if num_empties <= SOLVED_EMPTIES:
            solved = self._solver.solve(board.player, board.opponent, every_move=True)
            read = np.array([solved.move_scores[action] for action in actions], float)
        else:
            self._search.restart(board)
            self._search.grow(engine_settings.Limits(_SIMULATIONS))
            found = {move.action: move.discs for move in self._search.report(by_discs=True).moves}
            discs = np.array([found[action] for action in actions], float)  # NaN without visits
            read = np.where(np.isnan(discs), np.minimum(seen, np.nanmax(discs)), discs)
        losses = [np.minimum(worth.max() - worth, _MOST_LOST) for worth in (read, seen)]
        rows, columns = np.divmod(np.array(actions), size)
        near, far = np.sort([np.minimum(x, size - 1 - x) for x in (rows, columns)], axis=0)
        kinds = np.stack([(near == i) & (far == j) for i in range(4) for j in range(i, 4)], axis=1)
        policy = policy - np.logaddexp.reduce(policy)
        lost = [column for loss in losses for column in (loss / 10, np.log1p(loss))]
        values = np.column_stack([policy, *lost, kinds])
        return actions, values, num_empties


def basis(rating: float, num_empties: int) -> np.ndarray:
    """Returns `[6]`, the numbers that weights are linear in."""
    skill = (rating - _MEAN) / _UNIT
    time = (30 - num_empties) / 30 if num_empties > SOLVED_EMPTIES else num_empties / 5 - 1
    return np.array([1, skill, time, time**2, skill * time, skill**2])


@functools.cache
def _weights() -> _Weights:
    text = importlib.resources.files("azo.engine").joinpath("people.json").read_text("utf-8")
    fitted = json.loads(text)
    return _Weights(*(np.array(fitted[name]) for name in _Weights._fields))
