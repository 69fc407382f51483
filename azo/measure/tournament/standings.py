"""Results of a tournament by pair of players, and the effort of each player."""

import collections
import dataclasses
from collections.abc import Iterable, Sequence

from azo.measure import elo
from azo.measure.tournament import game_log


@dataclasses.dataclass(frozen=True)
class Effort:
    """The moves of a player in all its games."""

    num_moves: int  # with a choice
    positions: float | None  # searched a move; None if unknown
    seconds: float | None  # a move; None without moves
    num_forfeits: int  # games lost by a fault, not on the board


def pairings(names: Sequence[str], games: Iterable[game_log.PlayedGame]) -> list[elo.Pairing]:
    """Returns the results of all pairs of players that met, in the order of the names."""
    # Points of the first player of a pair in the one or two games of each opening.
    points: dict[tuple[str, str], dict[int, list[float]]] = collections.defaultdict(
        lambda: collections.defaultdict(list)
    )
    for game in games:
        pair, result = (game.black, game.white), game.result
        if names.index(game.black) > names.index(game.white):
            pair, result = (game.white, game.black), -game.result
        points[pair][game.opening].append((1 + result) / 2)
    ordered = sorted(points, key=lambda pair: (names.index(pair[0]), names.index(pair[1])))
    return [_pairing(pair, list(points[pair].values())) for pair in ordered]


def effort(name: str, games: Iterable[game_log.PlayedGame]) -> Effort:
    """Returns the effort of a player in its games."""
    num_moves, seconds, num_forfeits = 0, 0.0, 0
    searched: list[float | None] = []
    for game in games:
        if name not in (game.black, game.white):
            continue
        side = 0 if name == game.black else 1
        num_moves += game.num_moves[side]
        seconds += game.seconds[side]
        searched.append(game.positions[side])
        num_forfeits += bool(game.ended) and game.result == (-1, 1)[side]
    counts = [positions for positions in searched if positions is not None]
    is_complete = num_moves > 0 and len(counts) == len(searched)
    return Effort(
        num_moves=num_moves,
        positions=sum(counts) / num_moves if is_complete else None,
        seconds=seconds / num_moves if num_moves else None,
        num_forfeits=num_forfeits,
    )


def _pairing(pair: tuple[str, str], openings: Sequence[Sequence[float]]) -> elo.Pairing:
    """Returns the result of a pair, given the first player's points by opening and game."""
    points = [one for opening in openings for one in opening]
    pair_points = [sum(opening) for opening in openings if len(opening) == 2]
    return elo.Pairing(
        *pair,
        wins=points.count(1.0),
        draws=points.count(0.5),
        losses=points.count(0.0),
        pair_scores=tuple(pair_points.count(halves / 2) for halves in range(5)),
    )
