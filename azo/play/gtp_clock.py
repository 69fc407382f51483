"""The time of both sides as GTP tells it: a main time, then periods of so many moves each.

A front end that sends `time_left` is believed. Otherwise each clock is that of `time_settings` less
what the moves of this engine took.
"""

import dataclasses

from azo.play import clock


@dataclasses.dataclass(frozen=True)
class _Side:
    seconds: float  # left, of the main time or of the period
    moves: int  # left to play in the period; 0 in the main time


class GtpClock:
    """The clocks of black and white, if there are any."""

    def __init__(self, main: float = 0, period: float = 0, period_moves: int = 0):
        """Sets both clocks; by default there are none.

        Args:
          main: seconds of the main time.
          period: seconds of each period after it; 0: there is none.
          period_moves: moves to play in each; with 0, and a period, nothing is limited.
        """
        self._period = _Side(period, period_moves) if period > 0 and period_moves > 0 else None
        begin = self._period
        if main > 0 and (period == 0 or self._period is not None):
            begin = _Side(main, 0)
        self._sides: dict[bool, _Side | None] = dict.fromkeys((False, True), begin)

    def set_left(self, is_black: bool, seconds: float, moves: int) -> None:
        """Sets a side's clock: seconds for so many moves of a period, or of main time if 0."""
        self._sides[is_black] = _Side(seconds, moves)

    def use(self, is_black: bool, seconds: float) -> None:
        """Takes what a move took from a side's clock."""
        side = self._sides[is_black]
        if side is None:
            return
        left, moves = side.seconds - seconds, side.moves
        if moves == 0 and left <= 0 and self._period is not None:
            left, moves = self._period.seconds + left, self._period.moves
        is_last = moves == 1
        self._sides[is_black] = self._period if is_last else _Side(left, max(moves - 1, 0))

    def seconds_for_move(self, is_black: bool, num_empties: int) -> float | None:
        """Returns seconds for a side's next move; None if it has no clock."""
        side = self._sides[is_black]
        if side is None:
            return None
        if side.moves:
            return clock.seconds_for_move(side.seconds, num_empties, moves_left=side.moves)
        seconds = clock.seconds_for_move(side.seconds, num_empties)
        if self._period is None:
            return seconds
        period, moves = self._period.seconds, self._period.moves
        return max(seconds, clock.seconds_for_move(period, num_empties, moves_left=moves))
