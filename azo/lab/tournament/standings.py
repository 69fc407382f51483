"""Results of a tournament by pair of players, and the moves of each player."""

import collections
import dataclasses
import itertools
from collections.abc import Iterable, Sequence

from azo.lab import elo
from azo.lab.tournament import game_log


@dataclasses.dataclass(frozen=True)
class Effort:
    """The moves of a player in all its games."""

    positions: float | None  # searched a move with a choice; None if unknown
    seconds: float | None  # a move with a choice; None without moves
    num_forfeits: int  # games lost by a fault, not on the board


def pairings(names: Sequence[str], games: Iterable[game_log.PlayedGame]) -> list[elo.Pairing]:
    """Returns the results of all pairs of players that met, in the order of the names."""
    # By places of the names and by opening: points of the first player in one game or two.
    points: dict[tuple[int, int], dict[int, list[float]]] = collections.defaultdict(
        lambda: collections.defaultdict(list)
    )
    for game in games:
        black, white = names.index(game.black), names.index(game.white)
        result = game.result if black < white else -game.result
        points[min(black, white), max(black, white)][game.opening].append((1 + result) / 2)
    found = []
    for pair in sorted(points):
        single = list(itertools.chain(*points[pair].values()))
        paired = [sum(opening) for opening in points[pair].values() if len(opening) == 2]
        first, second = (names[place] for place in pair)
        pair_scores = tuple(paired.count(halves / 2) for halves in range(5))
        wins, draws, losses = (single.count(point) for point in (1.0, 0.5, 0.0))
        match = elo.MatchResult(wins, draws, losses, pair_scores)
        found.append(elo.Pairing(first, second, match))
    return found


def effort(name: str, games: Sequence[game_log.PlayedGame]) -> Effort:
    """Returns the effort of a player in its games."""
    own = [
        (game, (game.black, game.white).index(name))
        for game in games
        if name in (game.black, game.white)
    ]
    num_moves = sum(game.num_moves[side] for game, side in own)
    searched = [game.positions[side] for game, side in own]
    counts = [positions for positions in searched if positions is not None]
    is_complete = num_moves > 0 and len(counts) == len(searched)
    return Effort(
        positions=sum(counts) / num_moves if is_complete else None,
        seconds=sum(game.seconds[side] for game, side in own) / num_moves if num_moves else None,
        num_forfeits=sum(bool(game.ended) and game.result == (-1, 1)[side] for game, side in own),
    )
