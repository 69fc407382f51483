"""Keeps networks of a run, and has them play for their Elo: the host's part of `progress`.

A generation lies in RUN/generations/ITERATION as `checkpoint.save_params` writes it, so it can be
named wherever a player is wanted. Which generations there are, and their matches, is what the run's
metrics say: a resumed run, which drops what came after its checkpoint, keeps and rates those anew.
"""

import dataclasses
import shutil
import time
from typing import Any

import jax

from azo.games import protocol
from azo.measure import arena, cycles, elo, players, progress
from azo.run import checkpoint, config, metrics, networks

FOLDER = "generations"


@dataclasses.dataclass
class Rater:
    """Keeps and rates the generations of one run."""

    settings: config.Config
    game: protocol.Game
    writer: metrics.MetricsWriter

    def __post_init__(self) -> None:
        load = networks.loader(self.game)
        pool = self.settings.ratings.pool
        self.pool = {text: players.parse(text, self.game, load) for text in pool}
        self.folder = self.settings.run.folder / FOLDER

    def is_rated(self, iteration: int) -> bool:
        """Returns whether the generation of an iteration has its Elo."""
        return any(event["iteration"] == iteration for event in self._events(progress.RATING))

    def rate(self, variables: Any, iteration: int) -> str:
        """Keeps a network, plays its matches, rates all generations; returns that in words.

        Matches that are in the metrics already are not played again.

        Args:
          variables: the network's, on the host.
          iteration: iterations done.
        """
        asked, start = self.settings.ratings, time.perf_counter()
        self._keep(variables, iteration)
        found = [event for event in self._events(progress.MATCH) if event["iteration"] == iteration]
        have_met = [progress.opponent(event) for event in found]
        run_key = jax.random.key(self.settings.run.seed + 2)
        iteration_key = jax.random.fold_in(run_key, iteration)
        opponents: list[progress.Player] = [*asked.pool, *self._earlier(iteration)]
        for number, opponent in enumerate(opponents):
            if opponent in have_met:
                continue
            result = arena.play_match(
                self.game,
                self._player(variables),
                self._opponent(opponent),
                jax.random.fold_in(iteration_key, number),
                num_games=asked.num_games,
                opening_plies=self.settings.evaluation.opening_plies,
            )
            fields = progress.match_fields(opponent, result)
            self.writer.write(progress.MATCH, iteration, fields, has_curves=False)
        return self._write_rating(iteration, start)

    def _keep(self, variables: Any, iteration: int) -> None:
        place = self.folder / str(iteration)
        if place.exists():  # from before the checkpoint that the run was resumed at
            shutil.rmtree(place)
        checkpoint.save_params(place, variables, self.settings)

    def _earlier(self, iteration: int) -> list[int]:
        """Returns the generations to meet, of those that nobody has deleted."""
        known = [event["iteration"] for event in self._events(progress.RATING)]
        kept = [number for number in known if (self.folder / str(number)).is_dir()]
        return progress.earlier(self.settings.ratings, [n for n in kept if n < iteration])

    def _opponent(self, opponent: progress.Player) -> players.Player:
        if isinstance(opponent, str):
            return self.pool[opponent]
        variables, _ = checkpoint.load_params(self.folder / str(opponent))
        return self._player(jax.device_get(variables))

    def _player(self, variables: Any) -> players.NetworkPlayer:
        """Returns a generation as a player; all share one program."""
        trained = players.TrainedNetwork(variables, self.settings.network, self.settings.search)
        return players.network_player(self.game, trained, self.settings.ratings.num_simulations)

    def _write_rating(self, iteration: int, start: float) -> str:
        pairings = [progress.pairing(event) for event in self._events(progress.MATCH)]
        anchor = self.settings.ratings.anchor
        rated = elo.rate(pairings, anchor=anchor)
        (own,) = [one for one in rated.standings if one.name == progress.name(iteration)]
        low, high = own.interval
        found = cycles.find_cycles(pairings)
        self.writer.write(
            progress.RATING,
            iteration,
            {
                "rating/elo": own.rating,
                "rating/elo_low": low,
                "rating/elo_high": high,
                "rating/anchor": anchor,
                "rating/cycle": str(found[0]) if found else None,
                "time/rating_seconds": round(time.perf_counter() - start, 2),
            },
        )
        text = f"Elo {own.rating:.0f}, 95 % {low:.0f} to {high:.0f} ({anchor} 0)"
        return f"{text}; cycle: {found[0]}" if found else text

    def _events(self, kind: str) -> list[dict[str, Any]]:
        return metrics.read(self.settings.run.folder, kind)
