"""Exact scores of single positions with up to about 26 empty squares, on one core of the host.

The solver narrows the score by a few null-window searches (`deep.run`), each of which uses the
table of bounds that the earlier ones left (MTD(f): Plaat et al., "Best-first fixed-depth minimax
algorithms", Artificial Intelligence 87, 1996). The first windows are those around 0, which prove
win, draw or loss in about a tenth of the time. It checks the limits after every million nodes.

Inside, a high score is good for the side to move in both variants. Results are margins of discs as
`othello.Othello.score` counts them, so in reversed Othello a low one is good.
"""

import dataclasses
import math
import time
from collections.abc import Callable

import numpy as np

from azo.games import notation
from azo.solver.host import deep, early_end, fixed_depth, kernels, last_squares, probcut, table

_SLICE_NODES = 1_000_000  # about 0.1 s
_MAX_LOG_ROWS = 21  # 128 MiB
_MOST_PROBED = 36  # empty squares; with more, few nodes prove nothing but early ends


@dataclasses.dataclass(frozen=True)
class Solution:
    """Bounds of a position's score, and its best moves.

    A score is the final margin of discs for the side to move under perfect play; empty squares
    count for the side with more discs. In reversed Othello a negative score wins.
    """

    lower: int  # bound of the score
    upper: int  # equal to `lower` where solved
    best_move: int | None  # action; None if the game is over or a limit came too early
    move_scores: dict[int, int]  # of all legal actions, best first; empty if not requested
    best_moves: tuple[int, ...] = ()  # all actions with the best score; empty if not requested
    confidence: float = 1.0  # of each cut in the search; 1 if exact
    num_nodes: int = 0
    seconds: float = 0.0

    @property
    def is_solved(self) -> bool:
        """Whether the bounds agree."""
        return self.lower == self.upper

    @property
    def score(self) -> int:
        """The score.

        Raises:
          ValueError: If the position is unsolved because a limit was reached.
        """
        if not self.is_solved:
            raise ValueError(f"unsolved: the score is from {self.lower} to {self.upper}")
        return self.lower


class Solver:
    """Solves positions of one board size and one variant, one at a time.

    Equal calls search equal nodes: they begin with an empty table, unless they keep the last one.
    """

    def __init__(self, size: int = 8, *, is_reversed: bool = False):
        """Compiles the solver. Its table grows with the number of empty squares, to 128 MiB.

        Raises:
          ValueError: If the size is not 4, 6 or 8.
        """
        if size not in last_squares.SIZES:
            raise ValueError(f"board size is {size}, but should be 4, 6 or 8")
        self.size = size
        self._rules = last_squares.make_rules(size, is_reversed=is_reversed)
        self._search = deep.make_search(self._rules)._replace(
            evaluator=probcut.load_evaluator(size, is_reversed=is_reversed)
        )
        self._early_path = fixed_depth.make_path(early_end.MAX_DEPTH)
        self._compile()

    def solve(
        self,
        player: int,
        opponent: int,
        *,
        every_move: bool = False,
        every_best_move: bool = False,
        score: int | None = None,
        result_only: bool = False,
        guess: int = 0,
        keeps_table: bool = False,
        max_nodes: int | None = None,
        max_seconds: float | None = None,
        confidence: float = 1.0,
        is_stopped: Callable[[], bool] | None = None,
    ) -> Solution:
        """Returns the score of a position and a best move, exact if the confidence is 1.

        Args:
          player: discs of the side to move, as a Python integer with bit `8 * row + column`.
          opponent: discs of the other side.
          every_move: also find the scores of all legal moves.
          every_best_move: also find all moves with the best score, which takes less time.
          score: the exact score, if the caller knows it from the position before. Only the best
            moves are then searched, with the table of the call before.
          result_only: end when win, draw or loss is proven; the bounds may differ.
          guess: a score that is likely; it saves time if it is near.
          keeps_table: use the bounds that the last call has left, if it had the same confidence.
          max_nodes: limit on the positions visited; exceeded by a few thousand at most.
          max_seconds: limit on the time; exceeded by some tenths of a second at most.
          confidence: 1, or that of each multi-ProbCut cut, 0.9 to 0.98.
          is_stopped: called several times a second; the search ends when it returns True.

        Returns:
          The solution. After a limit it holds the bounds proved so far, without `move_scores` and
          `best_moves` unless these were complete.

        Raises:
          ValueError: If the discs overlap or lie outside the board, or no cuts exist for the
            confidence.
        """
        self._check(player, opponent)
        start = time.perf_counter()
        self._max_nodes = math.inf if max_nodes is None else max_nodes
        self._end_seconds = math.inf if max_seconds is None else start + max_seconds
        self._is_stopped = is_stopped or (lambda: False)
        self._result_only, self._guess = result_only, guess * self._rules.sign
        self._search = self._search._replace(cuts=self._cuts(confidence))
        self._search.counters[:] = 0
        P, O = np.uint64(player), np.uint64(opponent)
        if score is None and not keeps_table:
            self._clear_table(self._num_empties(P, O), max_nodes)
        if not (self._legal(P, O) or self._legal(O, P)):
            final = int(last_squares.final_score(P, O, self._rules))
            solution = Solution(final, final, None, {})
        elif score is not None:
            solution = self._solve_known(P, O, score * self._rules.sign)
        elif self._legal(P, O):
            solution = self._solve_moves(P, O, every_move, every_best_move)
        else:
            self._guess = -self._guess
            solution = self._solve_pass(P, O, every_move, every_best_move)
        if self._rules.sign < 0:
            solution = dataclasses.replace(
                solution,
                lower=-solution.upper,
                upper=-solution.lower,
                move_scores={action: -score for action, score in solution.move_scores.items()},
            )
        return dataclasses.replace(
            solution,
            confidence=confidence,
            num_nodes=int(self._search.counters[last_squares.NODES]),
            seconds=time.perf_counter() - start,
        )

    def find_early_win(self, player: int, opponent: int, max_nodes: int) -> Solution:
        """Returns bounds of the score: that of an early end that the side to move can force.

        A wipe-out, which no score is better than, solves the position. If no such end is found, no
        move is best, and the bounds are those of the board.

        Args:
          player: as for `solve`.
          opponent: as for `solve`.
          max_nodes: limit on the positions visited, about.

        Raises:
          ValueError: see `solve`.
        """
        self._check(player, opponent)
        P, O = np.uint64(player), np.uint64(opponent)
        found = early_end.winning_move(P, O, max_nodes, self._rules, self._early_path)
        whole = self._rules.num_squares
        if found is None:
            return Solution(-whole, whole, None, {})
        square, utility = found
        lower, upper = (utility, whole) if self._rules.sign > 0 else (-whole, -utility)
        return Solution(lower, upper, self._action(square), {})

    def probe(
        self,
        player: int,
        opponent: int,
        max_nodes: int,
        *,
        keeps_table: bool = False,
        max_seconds: float | None = None,
    ) -> Solution:
        """Returns bounds of the score that few nodes prove, with many empty squares.

        First `find_early_win`; then, with at most 36 empty squares, `solve` for the result.

        Args:
          player: as for `solve`.
          opponent: as for `solve`.
          max_nodes: limit on the positions visited, for each of the two.
          keeps_table: as for `solve`.
          max_seconds: as for `solve`.

        Raises:
          ValueError: see `solve`.
        """
        found = self.find_early_win(player, opponent, max_nodes)
        num_empties = self._num_empties(np.uint64(player), np.uint64(opponent))
        if found.best_move is not None or num_empties > _MOST_PROBED:
            return found
        return self.solve(
            player,
            opponent,
            result_only=True,
            keeps_table=keeps_table,
            max_nodes=max_nodes,
            max_seconds=max_seconds,
        )

    def play(self, player: int, opponent: int, action: int) -> tuple[int, int]:
        """Returns the discs after a legal action or a pass, those of the next side to move first.

        Arguments as in `solve`.
        """
        if action == self.size**2:
            return opponent, player
        square = action // self.size * 8 + action % self.size
        P, O = _after(np.uint64(player), np.uint64(opponent), square)
        return int(P), int(O)

    def _compile(self) -> None:
        """Calls every kernel once, so that no search is charged for compilation."""
        P, O = self._rules.on_board, np.uint64(0)
        deep.start(self._search, P, O, 0, 0)
        deep.run(self._search, 0)
        table.find(P, O, self._search.memory)
        last_squares.final_score(P, O, self._rules)
        self._legal(P, O)
        _after(P, O, 0)
        early_end.winning_move(P, O, 0, self._rules, self._early_path)

    def _cuts(self, confidence: float) -> np.ndarray:
        if confidence == 1.0:
            return np.zeros(65, deep.CUT)
        return probcut.load_cuts(self.size, confidence, is_reversed=self._rules.sign < 0)

    def _check(self, player: int, opponent: int) -> None:
        overlap = player & opponent
        if overlap:
            square = notation.action_text(self._action(overlap.bit_length() - 1), self.size)
            raise ValueError(f"impossible board: both sides have a disc on {square}")
        if (player | opponent) & ~int(self._rules.on_board):
            raise ValueError(
                f"impossible board: a disc lies outside of {self.size}x{self.size} squares"
            )

    def _solve_pass(
        self, P: np.uint64, O: np.uint64, every_move: bool, every_best_move: bool
    ) -> Solution:
        """Returns the solution of a position where the only action is the pass."""
        after = self._solve_moves(O, P, every_move=False, every_best_move=False)
        action, lower, upper = self.size**2, -after.upper, -after.lower
        move_scores = {action: lower} if every_move and after.is_solved else {}
        best_moves = (action,) if every_best_move and after.is_solved else ()
        return Solution(lower, upper, action, move_scores, best_moves)

    def _solve_known(self, P: np.uint64, O: np.uint64, score: int) -> Solution:
        """Returns the best moves of a position with a known score, without nodes and time."""
        moves = self._legal(P, O)
        squares = self._best_moves(P, O, moves, None, score)
        best_moves = tuple(map(self._action, squares)) if moves else (self.size**2,)
        return Solution(score, score, best_moves[0] if best_moves else None, {}, best_moves)

    def _solve_moves(
        self, P: np.uint64, O: np.uint64, every_move: bool, every_best_move: bool
    ) -> Solution:
        """Returns the solution of a position with legal moves, without nodes and time."""
        moves = self._legal(P, O)
        lower, upper, best = self._bounds(P, O, self._guess, result_first=True)
        if best is None and lower == upper:
            best = moves[0]  # every move has the lowest score
        scores = self._move_scores(P, O, moves, lower) if every_move and lower == upper else {}
        order = sorted(scores, key=lambda square: (-scores[square], square != best, square))
        if order:
            best = order[0]
            lower = upper = scores[best]
        best_moves: list[int] = []
        if every_best_move and lower == upper:
            best_moves = self._best_moves(P, O, moves, best, lower)
        return Solution(
            lower,
            upper,
            best_move=None if best is None else self._action(best),
            move_scores={self._action(square): scores[square] for square in order},
            best_moves=tuple(map(self._action, best_moves)),
        )

    def _move_scores(
        self, P: np.uint64, O: np.uint64, moves: list[int], guess: int
    ) -> dict[int, int]:
        """Returns the scores of moves, by square; nothing if a limit was reached."""
        scores = {}
        for square in moves:
            lower, upper, _ = self._bounds(*_after(P, O, square), -guess)
            if lower < upper:
                return {}
            scores[square] = -lower
        return scores

    def _best_moves(
        self, P: np.uint64, O: np.uint64, moves: list[int], best: int | None, score: int
    ) -> list[int]:
        """Returns all moves with the best score, nothing if a limit was reached."""
        best_moves = []
        for square in moves:
            if square != best and score > -self._rules.num_squares:
                bound = self._compare(*_after(P, O, square), -score)
                if bound is None:
                    return []
                if bound > -score:
                    continue
            best_moves.append(square)
        return best_moves

    def _bounds(
        self, P: np.uint64, O: np.uint64, guess: int, *, result_first: bool = False
    ) -> tuple[int, int, int | None]:
        """Returns bounds of the score, equal unless a limit was reached, and the move of the lower.

        With `result_first` the first windows are those around 0, and may be the only ones.
        """
        lower, upper = -self._rules.num_squares, self._rules.num_squares
        alpha, best = 0 if result_first else guess, None
        while lower < upper:
            if result_first and (lower > 0 or upper < 0):
                if self._result_only:
                    break
                alpha, result_first = guess, False
            # Scores are even: the board has an even number of squares, and each counts for a side.
            alpha = min(max(alpha, lower), upper - 2)
            bound = self._compare(P, O, alpha)
            if bound is None:
                break
            # Results of a selective search may contradict one another: the earlier ones hold.
            if bound > alpha:
                lower = alpha = min(bound, upper)
                # A later window may remove the position, and so this move, from the table.
                memory = self._search.memory
                best = int(memory["move"][table.find(P, O, memory)])
            else:
                upper = max(bound, lower)
                alpha = upper - 2
        return lower, upper, best

    def _compare(self, P: np.uint64, O: np.uint64, alpha: int) -> int | None:
        """Returns a bound of the score on its side of alpha, None if a limit was reached."""
        counters = self._search.counters
        deep.start(self._search, P, O, alpha, self._num_empties(P, O))
        while not self._is_at_limit():
            num_nodes = counters[last_squares.NODES] + _SLICE_NODES
            bound = deep.run(self._search, int(min(num_nodes, self._max_nodes)))
            if bound != deep.UNFINISHED:
                return bound
        return None

    def _is_at_limit(self) -> bool:
        num_nodes = self._search.counters[last_squares.NODES]
        is_late = num_nodes >= self._max_nodes or time.perf_counter() >= self._end_seconds
        return is_late or self._is_stopped()

    def _clear_table(self, empties: int, max_nodes: int | None) -> None:
        """Empties the table, whose size fits the number of empty squares and of nodes."""
        log_nodes = _MAX_LOG_ROWS if max_nodes is None else max_nodes.bit_length()
        num_rows = 1 << min(max(min(empties - 1, log_nodes), 4), _MAX_LOG_ROWS)
        if len(self._search.memory) == 2 * num_rows:
            table.clear(self._search.memory)
        else:
            self._search = self._search._replace(memory=table.make_table(num_rows))

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
    player, opponent = kernels.play(P, O, np.uint64(square))
    return np.uint64(player), np.uint64(opponent)
