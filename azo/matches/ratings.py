"""The ratings of training runs: Elo on a fixed ladder, and discs lost on solved positions.

A network meets players of about its strength, since a match that it wins or loses throughout says
little. Openings and positions come with azo, so all runs are measured alike.
"""

import concurrent.futures
import dataclasses
import functools
import itertools
import pathlib
from collections.abc import Mapping

import jax
import numpy as np

from azo.games import protocol
from azo.matches import arena, elo, ladder
from azo.matches.tournament import backends
from azo.opponents import players
from azo.training import run_clock

FILE = pathlib.Path(__file__).with_name("ratings.npz")
"""For each size of the board: balanced openings, and positions with the score of each move.
`scripts/make_rating_positions.py` writes it."""
ILLEGAL = -128  # in place of the score of a move
_NEAR = 120  # Elo: a match against a player as strong as this is informative
_ROWS = run_clock.FEWEST_GAMES // 2  # of the compiled search, for any number of games


@dataclasses.dataclass(frozen=True)
class Measurement:
    """The strength of a network."""

    standing: elo.Standing
    results: Mapping[str, elo.MatchResult]  # by the name of the opponent on the ladder
    places: tuple[str | None, str | None]  # the next weaker and the next stronger player
    discs_lost: float  # per move, mean over the solved positions

    def __str__(self) -> str:
        low, high = self.standing.interval
        words = zip(("above", "below"), self.places, strict=True)
        places = ", ".join(f"{word} {name}" for word, name in words if name is not None)
        lost = f"loses {self.discs_lost:.2f} discs per move"
        return f"Elo {self.standing.rating:.0f} +- {(high - low) / 2:.0f}: {places}; {lost}"


class Rater:
    """Measures networks for one game."""

    def __init__(self, game: protocol.Game):
        """Loads openings and positions; ValueError for a game without a ladder."""
        self.ladder = ladder.of_game(game)
        """Elo of all players, by name."""
        if not self.ladder:
            raise ValueError(
                f"ratings are for Othello on 6x6 and 8x8, not for {game.name}: set"
                " ratings.num_points to 0"
            )
        self._game = game
        # Programs of azo itself; others on the ladder need an installation.
        self._programs = {
            name: (rating, players.parse(name, game))
            for name, rating in self.ladder.items()
            if not name.startswith("gtp-rhino")
        }
        with np.load(FILE) as stored:
            size = game.board_shape[0]
            self._openings = [tuple(one) for one in stored[f"openings{size}"].tolist()]
            self._position = game.unpack(jax.numpy.asarray(stored[f"positions{size}"]))
            self._scores = stored[f"scores{size}"].astype(int)  # [M, A], for the side to move

    def compile(self, player: players.NetworkPlayer) -> None:
        """Compiles the search of a player, which is the same with other variables."""
        few = jax.tree.map(lambda x: x[:_ROWS], self._position)
        backends.choose(player, iter([jax.random.key(0)]), few, _ROWS)

    def measure(
        self,
        player: players.NetworkPlayer,
        key: jax.Array,
        num_games: int,
        expected: float | None = None,
    ) -> Measurement:
        """Returns the strength of a player, who meets opponents near the `expected` Elo first.

        It plays matches against the next weaker and the next stronger player, side by side. While
        its rating is far from those of all players met, the next ones follow. The `num_games` of a
        match are from different openings, each with both colours; fewer on a small board, which
        has fewer openings.
        """
        chosen = min(num_games // 2, len(self._openings))
        lost = self._discs_lost(player, key)
        ratings = {name: rating for name, (rating, _) in self._programs.items()}
        rating = [*ratings.values()][len(ratings) // 3] if expected is None else expected
        results: dict[str, elo.MatchResult] = {}
        with concurrent.futures.ThreadPoolExecutor() as pool:
            while all(abs(rating - ratings[name]) > _NEAR for name in results):
                near = ladder.neighbours(ratings, rating)
                new = [name for name in near if name is not None and name not in results]
                if not new:
                    break
                keys = jax.random.split(jax.random.fold_in(key, len(results)), len(new))
                played = pool.map(functools.partial(self._play, player, chosen), new, keys)
                results |= dict(zip(new, played, strict=True))
                standing = ladder.rate_network(results, self.ladder)
                met = [ratings[name] for name in results]
                # Beyond all players met only the near end of the interval is informative.
                low, high = standing.interval
                rating = np.clip(standing.rating, min(*met, high), max(*met, low))
        places = ladder.neighbours(self.ladder, standing.rating)
        return Measurement(standing, results, places, lost)

    def _play(
        self, player: players.NetworkPlayer, count: int, opponent: str, key: jax.Array
    ) -> elo.MatchResult:
        chosen = jax.random.choice(key, len(self._openings), (count,), replace=False)
        return arena.play_match(
            self._game,
            player,
            self._programs[opponent][1],
            key,
            num_games=2 * count,
            drawn=[self._openings[row] for row in chosen.tolist()],
            rows=_ROWS,
        )

    def _discs_lost(self, player: players.NetworkPlayer, key: jax.Array) -> float:
        """Returns the mean loss of the moves in the solved positions."""
        keys = (jax.random.fold_in(key, number) for number in itertools.count())
        actions = backends.choose(player, keys, self._position, _ROWS)
        chosen = self._scores[np.arange(len(actions)), actions]
        return float((self._scores.max(axis=1) - chosen).mean())
