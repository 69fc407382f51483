"""Exact scores of single positions with up to about 26 empty squares, on one core of the host.

The solver narrows the score by a few null-window searches (`deep.run`), each of which uses the
table of bounds that the earlier ones left (MTD(f): Plaat et al., "Best-first fixed-depth minimax
algorithms", Artificial Intelligence 87, 1996). The first windows are those around 0, which prove
win, draw or loss in about a tenth of the time. It checks the limits after every 100,000 nodes.

Inside, a high score is good for the side to move in both variants. Results are as in `Solution`.
"""

import dataclasses
import math
import time
from collections.abc import Callable

import numpy as np

from azo.games import notation, variant
from azo.games.host import host_rules, kernels
from azo.solver.host import deep, fixed_depth, last_squares, probcut, table

_SLICE_NODES = 100_000  # about 10 ms
_MAX_LOG_ROWS = 21  # 128 MiB


@dataclasses.dataclass(frozen=True)
class Solution:
    """Bounds of a position's score, and a best move.

    A score is the final margin of discs for the side to move under perfect play; empty squares
    count for the side with more discs. In reversed Othello a negative score wins.
    """

    lower: int  # bound of the score
    upper: int  # equal to `lower` where solved
    best_move: int | None  # action; None if the game is over or a limit came too early
    move_scores: dict[int, int]  # of all legal actions, best first; empty if not requested
    num_nodes: int = 0
    seconds: float = 0.0

    @property
    def is_solved(self) -> bool:
        """Whether the bounds agree."""
        return self.lower == self.upper

    @property
    def score(self) -> int:
        """The score; ValueError if the position is unsolved because a limit was reached."""
        if not self.is_solved:
            raise ValueError(f"unsolved: the score is from {self.lower} to {self.upper}")
        return self.lower


class Solver:
    """Solves positions of one board size and one variant, one at a time.

    Equal calls search equal nodes: they begin with an empty table, unless they keep the last one.
    """

    def __init__(self, size: int = 8, *, is_reversed: bool = False):
        """Compiles the solver. Its table grows with the number of empty squares, to 128 MiB."""
        if size not in variant.SIZES:
            raise ValueError(f"board size is {size}, but should be 4, 6 or 8")
        self.size = size
        self._rules = host_rules.make_rules(size, is_reversed=is_reversed)
        evaluator = probcut.load_evaluator(size, is_reversed=is_reversed)
        self._search = deep.make_search(self._rules, evaluator)
        self._early_path = fixed_depth.make_path(fixed_depth.MAX_EARLY_DEPTH)
        # Every kernel runs once, so that no search is charged for compilation.
        for sides in ((1, 2), (2, 1), (1, 0)):
            self.solve(*sides, every_move=True, max_nodes=1000)
        self.find_early_win(1, 2, 0)

    def solve(
        self,
        player: int,
        opponent: int,
        *,
        every_move: bool = False,
        result_only: bool = False,
        guess: int = 0,
        keeps_table: bool = False,
        max_nodes: int | None = None,
        max_seconds: float | None = None,
        is_stopped: Callable[[], bool] | None = None,
    ) -> Solution:
        """Returns the score of a position and a best move, exact unless a limit is reached.

        Args:
          player: discs of the side to move, as a Python integer with bit `8 * row + column`.
          opponent: discs of the other side.
          every_move: also find the scores of all legal moves.
          result_only: end when win, draw or loss is proven. The bounds may then differ.
          guess: a likely score; a good guess saves time.
          keeps_table: use the table of bounds that the last call left.
          max_nodes: limit on the positions visited; exceeded by a few thousand at most.
          max_seconds: limit on the time; exceeded by some hundredths of a second at most.
          is_stopped: called several times per second; the search ends when it returns True.

        After a limit the solution holds the bounds proved so far, without `move_scores` unless
        these were complete. ValueError if the discs overlap or lie outside the board.
        """
        host_rules.check_board(player, opponent, self._rules, self.size)
        start = time.perf_counter()
        self._max_nodes = math.inf if max_nodes is None else max_nodes
        self._end_seconds = math.inf if max_seconds is None else start + max_seconds
        self._is_stopped = is_stopped or (lambda: False)
        self._result_only, self._guess = result_only, guess * self._rules.sign
        self._search.counters[:] = 0
        P, O = np.uint64(player), np.uint64(opponent)
        if not keeps_table:
            self._clear_table(self._num_empties(P, O), max_nodes)
        if host_rules.is_over(P, O, self._rules):
            final = int(host_rules.final_score(P, O, self._rules))
            solution = Solution(final, final, None, {})
        else:
            solution = self._solve(P, O, every_move)
        if self._rules.sign < 0:
            solution = dataclasses.replace(
                solution,
                lower=-solution.upper,
                upper=-solution.lower,
                move_scores={action: -score for action, score in solution.move_scores.items()},
            )
        return dataclasses.replace(
            solution,
            num_nodes=int(self._search.counters[last_squares.NODES]),
            seconds=time.perf_counter() - start,
        )

    def find_early_win(self, player: int, opponent: int, max_nodes: int) -> Solution:
        """Returns bounds of the score: that of an early end that the side to move can force.

        About `max_nodes` positions are visited. A wipe-out, which no score is better than, solves
        the position. If no such end is found, no move is best, and the bounds are those of the
        board.
        """
        host_rules.check_board(player, opponent, self._rules, self.size)
        P, O = np.uint64(player), np.uint64(opponent)
        square, utility = fixed_depth.winning_move(
            P, O, max_nodes, fixed_depth.EndEvaluator(), self._rules, self._early_path
        )
        whole = self._rules.num_squares
        if square == table.NO_MOVE:
            return Solution(-whole, whole, None, {})
        lower, upper = (utility, whole) if self._rules.sign > 0 else (-whole, -utility)
        return Solution(lower, upper, self._action(square), {})

    def _solve(self, P: np.uint64, O: np.uint64, every_move: bool) -> Solution:
        """Returns the solution of a game that is not over, without nodes and time."""
        moves = host_rules.legal_squares(P, O, self._rules) or [table.NO_MOVE]
        lower, upper, best = self._bounds(P, O, self._guess, result_first=True)
        if best is None and lower == upper:
            best = moves[0]  # every move has the lowest score
        scores: dict[int, int] = {}
        for move in moves if every_move and lower == upper else ():
            after = (O, P) if move == table.NO_MOVE else kernels.play(P, O, np.uint64(move))
            low, high, _ = self._bounds(after[0], after[1], -lower)
            if low < high:  # a limit was reached
                scores = {}
                break
            scores[move] = -low
        order = sorted(scores, key=lambda move: (-scores[move], move != best, move))
        if order:
            best = order[0]
            lower = upper = scores[best]
        return Solution(
            lower,
            upper,
            best_move=None if best is None else self._action(best),
            move_scores={self._action(move): scores[move] for move in order},
        )

    def _bounds(
        self, P: np.uint64, O: np.uint64, guess: int, *, result_first: bool = False
    ) -> tuple[int, int, int | None]:
        """Returns bounds of the score, equal unless a limit was reached, and the move of the lower.

        With `result_first` the first windows are those around 0, and may be the only ones.
        """
        P, O = np.uint64(P), np.uint64(O)  # compiled functions return Python integers
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
            if bound > alpha:
                lower = alpha = bound
                # A later window may remove the position, and so this move, from the table.
                memory = self._search.memory
                best = int(memory["move"][table.find(P, O, memory)])
            else:
                upper = bound
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

    def _num_empties(self, P: np.uint64, O: np.uint64) -> int:
        return self._rules.num_squares - (int(P) | int(O)).bit_count()

    def _action(self, move: int) -> int:
        is_pass = move == table.NO_MOVE
        return self.size**2 if is_pass else host_rules.action_of(move, self.size)


def solve_position(
    board: str,
    *,
    is_reversed: bool = False,
    every_move: bool = False,
    max_seconds: float | None = None,
) -> Solution:
    """Returns the exact score of a position of Othello and a best move.

        solution = azo.solve_position(board)  # 64 squares, a space and the side to move
        solution.score, azo.action_text(solution.best_move, 8)

    The score is the final margin in discs for the side to move under perfect play, with the empty
    squares given to the winner. The best move is an action, `row * size + column` or `size**2` for
    the pass; None if the game is over. 20 empty squares of an 8x8 board usually take less than a
    second on one core, and 26 take minutes. `Solver` has more settings, and is faster for many
    positions.

    Args:
      board: 16, 36 or 64 squares row by row from a1: X black, O white, - empty; then a space and
        the side to move, X or O.
      is_reversed: fewer discs win; then a negative score wins.
      every_move: also find the scores of all legal actions, `solution.move_scores`, best first.
      max_seconds: time limit. If the position is not solved by then, the bounds `solution.lower`
        and `solution.upper` differ, and `solution.score` raises ValueError.

    Raises:
      ValueError: the text is not a board of 4, 6 or 8 rows.
    """
    squares = (board.split() or [""])[0]
    size = math.isqrt(len(squares))
    position = notation.parse_board(board, size)
    solver = Solver(size, is_reversed=is_reversed)
    return solver.solve(
        position.player, position.opponent, every_move=every_move, max_seconds=max_seconds
    )
