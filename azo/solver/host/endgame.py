"""Exact scores of single positions with some 20 to 26 empty squares, on one core of the host.

The score is found by a few yes-or-no questions ("is it above 4?") to `deep.search`, each of which
begins where the table of bounds leaves off (MTD(f): Plaat
et al., "Best-first fixed-depth minimax algorithms", Artificial Intelligence 87, 1996). Between
slices of a million nodes the limits are looked at, and Ctrl-C is heard.

Inside, a score is good for the side to move if it is high, in both variants; what is returned are
margins of discs as `othello.Othello.score` counts them, of which reversed Othello wants low ones.
"""

import dataclasses
import math
import time
from collections.abc import Callable

import numpy as np

from azo.games import notation
from azo.solver.host import deep, kernels, last_squares, probcut, table

_SLICE_NODES = 1_000_000  # about 0.1 s
_MAX_LOG_ROWS = 21  # 128 MiB


@dataclasses.dataclass(frozen=True)
class Solution:
    """What is known of a position.

    A score is the final margin of discs for the side to move under perfect play, with the empty
    squares given to whoever has more discs; in reversed Othello a negative score wins.
    """

    lower: int  # the score is at least this
    upper: int  # and at most this
    best_move: int | None  # action; None if the game is over or nothing was found out
    move_scores: dict[int, int]  # of all legal actions, best first, if asked for and all were found
    best_moves: tuple[int, ...] = ()  # all actions with the score, if asked for and all were found
    confidence: float = 1.0  # in each cut of the search; 1 if all of this is exact
    num_nodes: int = 0
    seconds: float = 0.0

    @property
    def is_solved(self) -> bool:
        """Whether the score is known."""
        return self.lower == self.upper

    @property
    def is_exact(self) -> bool:
        """Whether the score is proved."""
        return self.is_solved and self.confidence == 1.0

    @property
    def score(self) -> int:
        """The score.

        Raises:
          ValueError: If a limit was reached before it was found.
        """
        if not self.is_solved:
            raise ValueError(f"unsolved: the score is from {self.lower} to {self.upper}")
        return self.lower


class Solver:
    """Solves positions of one size of board and one variant, one at a time.

    Every call begins with an empty table, so that equal calls search equal nodes.
    """

    def __init__(self, size: int = 8, *, is_reversed: bool = False):
        """Prepares a solver; its memory grows with the positions that it meets.

        Raises:
          ValueError: If the size is not 4, 6 or 8.
        """
        if size not in last_squares.SIZES:
            raise ValueError(f"board size {size}: the solver knows 4, 6 and 8")
        self.size = size
        self._rules = last_squares.make_rules(size, is_reversed=is_reversed)
        self._stack = deep.Stack()
        self._cuts = deep.no_cuts()
        self._memory = table.make_table(1)
        # Compiles, or loads what was compiled before, so that no search is charged for it.
        self._max_nodes, self._end_seconds = math.inf, math.inf
        self._search(self._rules.on_board, np.uint64(0), 0, 0)
        self._legal(self._rules.on_board, np.uint64(0))
        last_squares.final_score(self._rules.on_board, np.uint64(0), self._rules)
        kernels.flips(self._rules.on_board, np.uint64(0), np.uint64(0))
        table.move_of(table.find(self._rules.on_board, np.uint64(0), self._memory))

    def solve(
        self,
        player: int,
        opponent: int,
        *,
        every_move: bool = False,
        every_best_move: bool = False,
        max_nodes: int | None = None,
        max_seconds: float | None = None,
        confidence: float = 1.0,
        is_stopped: Callable[[], bool] | None = None,
    ) -> Solution:
        """Returns the score of a position and a best move: exact, unless a confidence is given.

        Args:
          player: discs of the side to move, as a Python integer with bit `8 * row + column`.
          opponent: discs of the other side.
          every_move: whether to find the scores of all legal moves too.
          every_best_move: whether to find all moves that are as good as the best, which takes less.
          max_nodes: when to give up, in positions visited; passed over by a few thousand at most.
          max_seconds: when to give up; passed over by some tenths of a second at most.
          confidence: 1 for exact scores, or that of each cut by multi-ProbCut, 0.9 to 0.98.
          is_stopped: asked some times a second whether to give up.

        Returns:
          The solution. When a limit was reached it holds the bounds proved until then, and of
          `every_move` and `every_best_move` nothing.

        Raises:
          ValueError: If the discs overlap or lie outside the board, or the confidence is none that
            can be had.
        """
        self._check(player, opponent)
        self._cuts = self._cuts_for(confidence)
        start = time.perf_counter()
        self._max_nodes = math.inf if max_nodes is None else max_nodes
        self._end_seconds = math.inf if max_seconds is None else start + max_seconds
        self._is_stopped = is_stopped or (lambda: False)
        self._stack.counters[:] = 0
        P, O = np.uint64(player), np.uint64(opponent)
        moves, has_passed = self._legal(P, O), False
        if not moves:
            P, O, has_passed = O, P, True
            moves = self._legal(P, O)
        if moves:
            found = self._solve_moves(P, O, moves, every_move and not has_passed)
            if every_best_move and found.is_solved and not has_passed:
                best_moves = self._best_moves(P, O, moves, found)
                found = dataclasses.replace(found, best_moves=best_moves)
        else:
            score = int(last_squares.final_score(P, O, self._rules))
            found = Solution(score, score, None, {})
        if has_passed:
            found = dataclasses.replace(found, lower=-found.upper, upper=-found.lower)
            if moves:
                passing = self.size**2
                scores = {passing: found.lower} if every_move and found.is_solved else {}
                best_moves = (passing,) if every_best_move and found.is_solved else ()
                found = dataclasses.replace(
                    found, best_move=passing, move_scores=scores, best_moves=best_moves
                )
        if self._rules.sign < 0:
            scores = {action: -score for action, score in found.move_scores.items()}
            found = dataclasses.replace(
                found, lower=-found.upper, upper=-found.lower, move_scores=scores
            )
        return dataclasses.replace(
            found,
            confidence=confidence,
            num_nodes=int(self._stack.counters[last_squares.NODES]),
            seconds=time.perf_counter() - start,
        )

    def play(self, player: int, opponent: int, action: int) -> tuple[int, int]:
        """Returns the discs after a legal action, a pass too, those of the next side to move first.

        Arguments as in `solve`.
        """
        if action == self.size**2:
            return opponent, player
        square = action // self.size * 8 + action % self.size
        P, O = _after(np.uint64(player), np.uint64(opponent), square)
        return int(P), int(O)

    def _cuts_for(self, confidence: float) -> deep.Cuts:
        if confidence == 1.0:
            return deep.no_cuts()
        return probcut.load_cuts(self.size, confidence, is_reversed=self._rules.sign < 0)

    def _check(self, player: int, opponent: int) -> None:
        both = player & opponent
        if both:
            square = notation.action_text(self._action(both.bit_length() - 1), self.size)
            raise ValueError(f"impossible board: both sides have a disc on {square}")
        if (player | opponent) & ~int(self._rules.on_board):
            raise ValueError(
                f"impossible board: a disc lies outside of {self.size}x{self.size} squares"
            )

    def _solve_moves(
        self, P: np.uint64, O: np.uint64, moves: list[int], every_move: bool
    ) -> Solution:
        """Returns the solution of a position with legal moves, but for nodes and time."""
        empties = self._num_empties(P, O)
        self._clear(empties)
        lower, upper = self._bounds(P, O, 0)
        # The table has the move that proves the lower bound. The lowest of all scores needs none.
        kept = int(table.move_of(table.find(P, O, self._memory)))
        best = kept if lower > -self._rules.num_squares else moves[0] if lower == upper else None
        scores: dict[int, int] = {}
        if every_move and lower == upper:
            for square in moves:
                low, high = self._bounds(*_after(P, O, square), -lower)
                if low < high:
                    scores.clear()
                    break
                scores[square] = -low
        order = sorted(scores, key=lambda square: (-scores[square], square != best, square))
        if order:
            best = order[0]
            lower = upper = scores[best]
        move_scores = {self._action(square): scores[square] for square in order}
        action = None if best is None else self._action(best)
        return Solution(lower, upper, action, move_scores)

    def _best_moves(
        self, P: np.uint64, O: np.uint64, moves: list[int], found: Solution
    ) -> tuple[int, ...]:
        """Returns all actions that keep a score that was found, none if a limit was reached."""
        best = []
        for square in moves:
            action = self._action(square)
            if action != found.best_move and found.lower > -self._rules.num_squares:
                bound = self._ask(*_after(P, O, square), -found.lower)
                if bound is None:
                    return ()
                if bound > -found.lower:
                    continue
            best.append(action)
        return tuple(best)

    def _bounds(self, P: np.uint64, O: np.uint64, guess: int) -> tuple[int, int]:
        """Returns bounds of the score, equal unless a limit was reached."""
        lower, upper = -self._rules.num_squares, self._rules.num_squares
        alpha = guess
        while lower < upper:
            # Scores are even: of a board with an even number of squares all are given to one side.
            alpha = min(max(alpha, lower), upper - 2)
            bound = self._ask(P, O, alpha)
            if bound is None:
                break
            # Answers of a selective search may contradict one another: then the earlier ones hold.
            if bound > alpha:
                lower = alpha = min(bound, upper)
            else:
                upper = max(bound, lower)
                alpha = upper - 2
        return lower, upper

    def _ask(self, P: np.uint64, O: np.uint64, alpha: int) -> int | None:
        """Returns a bound on alpha's side of the score, None if a limit was reached."""
        counters = self._stack.counters
        while True:
            num_nodes = counters[last_squares.NODES]
            is_late = num_nodes >= self._max_nodes or time.perf_counter() >= self._end_seconds
            if is_late or self._is_stopped():
                counters[deep.LEVEL] = 0
                return None
            bound = self._search(P, O, alpha, int(min(num_nodes + _SLICE_NODES, self._max_nodes)))
            if bound != deep.UNFINISHED:
                return bound

    def _search(self, P: np.uint64, O: np.uint64, alpha: int, num_nodes: int) -> int:
        stack = self._stack
        return deep.search(
            P,
            O,
            alpha,
            self._num_empties(P, O),
            num_nodes,
            self._rules,
            self._cuts,
            self._memory,
            stack.boards,
            stack.frames,
            stack.moves,
            stack.leaves,
            stack.estimate,
            stack.counters,
        )

    def _clear(self, empties: int) -> None:
        """Empties a table of a size that fits the number of empty squares."""
        num_rows = 1 << min(max(empties - 1, 4), _MAX_LOG_ROWS)
        if len(self._memory) == num_rows:
            self._memory.fill(0)
        else:
            self._memory = table.make_table(num_rows)

    def _legal(self, P: np.uint64, O: np.uint64) -> list[int]:
        legal = int(kernels.legal_moves(P, O, self._rules.on_board))
        return [square for square in range(64) if legal >> square & 1]

    def _num_empties(self, P: np.uint64, O: np.uint64) -> int:
        return self._rules.num_squares - (int(P) | int(O)).bit_count()

    def _action(self, square: int) -> int:
        """Returns the action of a square of the 8-wide board."""
        return square // 8 * self.size + square % 8


def _after(P: np.uint64, O: np.uint64, square: int) -> tuple[np.uint64, np.uint64]:
    """Returns the position after a move, the side to move first."""
    turned = int(kernels.flips(P, O, np.uint64(square)))
    return np.uint64(int(O) ^ turned), np.uint64(int(P) | turned | 1 << square)
