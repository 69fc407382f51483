"""How long to think about a move when the whole game is timed."""

_RESERVE = 0.3  # seconds kept for the way to the opponent and back
_LEAST = 0.02
_SOLVED_EMPTIES = 16  # from there on moves cost next to nothing
_MOVES_BEYOND = 4


def seconds_for_move(
    remaining: float, num_empties: int, *, increment: float = 0.0, moves_left: int | None = None
) -> float:
    """Returns seconds for the next move.

    Args:
      remaining: seconds on the clock of the side to move.
      num_empties: empty squares of the board; each side plays about half of them.
      increment: seconds that come back after each move.
      moves_left: moves to play in `remaining`, of a period of byo-yomi; None: all that are left.
    """
    own_moves = max(num_empties - _SOLVED_EMPTIES, 0) / 2 + _MOVES_BEYOND
    if moves_left is not None:
        own_moves = min(own_moves, max(moves_left, 1))
    usable = max(remaining - _RESERVE, 0.0)
    return max(min(usable / own_moves + increment, usable), _LEAST)
