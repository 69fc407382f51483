"""Game clocks, and how much of the remaining time one move may use."""

from typing import NamedTuple

from azo.engine.engine_settings import EngineConfig, Limits

_RESERVE = 0.3  # seconds kept for the transfer of moves
_LEAST = 0.02  # seconds
_SOLVED_EMPTIES = 16  # from here on moves take almost no time
_MOVES_BEYOND = 4


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


class _Side(NamedTuple):
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

    def limits(self, is_black: bool, num_empties: int, config: EngineConfig) -> Limits:
        """Returns the limits of a side's next move, by the clock and by the settings."""
        side, period = self._sides[is_black], self._period
        if side is None:
            return config.limits()
        if side.moves:
            seconds = seconds_for_move(side.seconds, num_empties, moves_left=side.moves)
        else:
            seconds = seconds_for_move(side.seconds, num_empties, increment=self._increment)
            if period is not None:
                later = seconds_for_move(period.seconds, num_empties, moves_left=period.moves)
                seconds = max(seconds, later)
        seconds = min(seconds, config.seconds or seconds)
        return Limits(config.num_simulations, seconds, ends_early=True)
