"""What the games of a tournament say: a cross-table, and what each player did for it."""

import dataclasses
from collections.abc import Iterable, Sequence

from azo.measure import elo
from azo.measure.tournament.game_log import PlayedGame


@dataclasses.dataclass(frozen=True)
class Effort:
    """What a player did in all its games."""

    num_moves: int  # where there was a choice
    positions: float | None  # searched a move; None if not known
    seconds: float | None  # a move; None without moves
    num_forfeits: int  # games lost by a fault, not on the board


def pairings(names: Sequence[str], records: Iterable[PlayedGame]) -> list[elo.Pairing]:
    """Returns the results of all pairs of players that met, in the order of the names."""
    place = {name: number for number, name in enumerate(names)}
    points: dict[tuple[str, str], dict[int, list[float]]] = {}
    for record in records:
        black, white = record.black, record.white
        is_told_by_black = place[black] < place[white]
        pair = (black, white) if is_told_by_black else (white, black)
        result = record.result if is_told_by_black else -record.result
        by_opening = points.setdefault(pair, {})
        by_opening.setdefault(record.opening, []).append((1 + result) / 2)
    in_order = sorted(points, key=lambda pair: (place[pair[0]], place[pair[1]]))
    return [_pairing(pair, list(points[pair].values())) for pair in in_order]


def effort(name: str, records: Iterable[PlayedGame]) -> Effort:
    """Returns what a player did in its games among the records."""
    num_moves, seconds, num_forfeits = 0, 0.0, 0
    positions: float | None = 0.0
    for record in records:
        colours = (record.black, record.white)
        if name not in colours:
            continue
        side = colours.index(name)
        searched = record.positions[side]
        num_moves += record.num_moves[side]
        seconds += record.seconds[side]
        positions = None if positions is None or searched is None else positions + searched
        num_forfeits += bool(record.ended) and record.result == (-1 if side == 0 else 1)
    if num_moves == 0:
        return Effort(0, None, None, num_forfeits)
    searched_a_move = None if positions is None else positions / num_moves
    return Effort(num_moves, searched_a_move, seconds / num_moves, num_forfeits)


def _pairing(pair: tuple[str, str], openings: Sequence[Sequence[float]]) -> elo.Pairing:
    """`openings` has the points of the first in the games of each opening, one or two."""
    singles = [points for opening in openings for points in opening]
    both = [sum(opening) for opening in openings if len(opening) == 2]
    return elo.Pairing(
        *pair,
        wins=singles.count(1.0),
        draws=singles.count(0.5),
        losses=singles.count(0.0),
        pair_scores=tuple(both.count(points / 2) for points in range(5)),
    )
