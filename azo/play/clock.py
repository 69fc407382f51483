"""Game clocks, how much of the remaining time one move may use, and when a move is settled."""

import dataclasses
import math

import numpy as np

_RESERVE = 0.3  # seconds kept for the transfer of moves
_LEAST = 0.02  # seconds
_SOLVED_EMPTIES = 16  # from here on moves take almost no time
_MOVES_BEYOND = 4
_EXTENSION = 1.5  # of the time of a move whose best move changes
_LARGEST_SHARE = 0.3  # of the clock, for such a move
_SETTLED = 0.5  # share of the time so far without a change of the best move
_LEAST_SIMULATIONS = 32  # before their rate is known


def seconds_for_move(
    remaining: float, num_empties: int, *, increment: float = 0.0, moves_left: int | None = None
) -> float:
    """Returns seconds for the next move.

    Args:
      remaining: seconds on the clock of the side to move.
      num_empties: empty squares of the board; each side plays about half of them.
      increment: seconds that are added after each move.
      moves_left: moves to play in `remaining`, of a byo-yomi period; None: the rest of the game.
    """
    own_moves = max(num_empties - _SOLVED_EMPTIES, 0) / 2 + _MOVES_BEYOND
    if moves_left is not None:
        own_moves = min(own_moves, max(moves_left, 1))
    usable = max(remaining - _RESERVE, 0.0)
    return max(min(usable / own_moves + increment, usable), _LEAST)


class MoveTimer:
    """Decides when the search of one move ends.

    It ends before its time when the most visited move cannot be caught any more, and later, up to
    `most_seconds`, when that move has changed in the last half of the time.
    """

    def __init__(self, seconds: float, most_seconds: float):
        """Starts with a move's usual and longest time."""
        self._seconds, self._most_seconds = seconds, most_seconds
        self._best, self._changed = -1, 0.0

    def is_over(self, elapsed: float, num_done: int, num_left: float, visits: np.ndarray) -> bool:
        """Returns whether to end; called with the progress of the search, again and again.

        Args:
          elapsed: seconds since the start.
          num_done: simulations since the start.
          num_left: simulations allowed from now on.
          visits: of each move, 0 for proven losses; with those of earlier searches.
        """
        best = int(np.argmax(visits))
        if best != self._best:
            self._changed = elapsed if self._best >= 0 else 0.0
            self._best = best
        is_settled = elapsed - self._changed >= _SETTLED * elapsed
        end = self._seconds if is_settled else self._most_seconds
        if elapsed >= end:
            return True
        lead = 2 * visits[best] - np.sort(visits)[-2:].sum()  # ahead of the second
        if len(visits) == 1:
            lead = visits[best]
        num_left = min(num_left, num_done / elapsed * (end - elapsed))
        return num_done >= _LEAST_SIMULATIONS and bool(lead > num_left)


@dataclasses.dataclass(frozen=True)
class _Side:
    seconds: float  # left, of the main time or of the period
    moves: int  # left to play in the period; 0 in the main time


class GameClock:
    """The clocks of black and white: main time, then an increment or byo-yomi periods."""

    def __init__(
        self, main: float = 0, period: float = 0, period_moves: int = 0, *, increment: float = 0
    ):
        """Sets both clocks; by default there are none.

        Args:
          main: seconds of the main time.
          period: seconds of each period after it; 0: there is none.
          period_moves: moves to play in each; 0 with a period means no limit, as in GTP.
          increment: seconds that are added after each move of the main time.
        """
        self._increment = increment
        self._period = _Side(period, period_moves) if period > 0 and period_moves > 0 else None
        begin = self._period
        if main > 0 and (period == 0 or self._period is not None):
            begin = _Side(main, 0)
        self._sides: dict[bool, _Side | None] = dict.fromkeys((False, True), begin)

    def set_left(self, is_black: bool, seconds: float, moves: int) -> None:
        """Sets a side's clock: seconds for the moves of a period, or of main time if 0 moves."""
        self._sides[is_black] = _Side(seconds, moves)

    def use(self, is_black: bool, seconds: float) -> None:
        """Subtracts the seconds of a move from a side's clock."""
        side = self._sides[is_black]
        if side is None:
            return
        left, moves = side.seconds - seconds, side.moves
        if moves == 0:
            left += self._increment
        if moves == 0 and left <= 0 and self._period is not None:
            left, moves = self._period.seconds + left, self._period.moves
        is_last = moves == 1
        self._sides[is_black] = self._period if is_last else _Side(left, max(moves - 1, 0))

    def seconds_for_move(
        self, is_black: bool, num_empties: int, limit: float | None = None
    ) -> float | None:
        """Returns seconds for a side's next move, at most `limit`; None without clock and limit."""
        side, period = self._sides[is_black], self._period
        if side is None:
            return limit
        if side.moves:
            seconds = seconds_for_move(side.seconds, num_empties, moves_left=side.moves)
        else:
            seconds = seconds_for_move(side.seconds, num_empties, increment=self._increment)
            if period is not None:
                later = seconds_for_move(period.seconds, num_empties, moves_left=period.moves)
                seconds = max(seconds, later)
        return seconds if limit is None else min(seconds, limit)

    def most_seconds(
        self, is_black: bool, seconds: float | None, limit: float | None = None
    ) -> float | None:
        """Returns the longest time of a move that usually takes `seconds`; None without a clock."""
        side = self._sides[is_black]
        if side is None or seconds is None:
            return None
        share = _LARGEST_SHARE * (side.seconds - _RESERVE)
        return max(seconds, min(_EXTENSION * seconds, share, limit or math.inf))
