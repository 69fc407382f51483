"""The matches of a run: the gate, the evaluation, the ratings. See `trainer.Matches`.

For ratings the network that plays is kept as a generation, named by its iteration. It meets a pool
of fixed players, and all matches of the run so far are rated together. Players of the `ladder` in
the pool keep their ratings, so that runs can be compared.
"""

import shutil
import time
from collections.abc import Iterator, Mapping
from typing import Any

import jax

from azo.games import protocol
from azo.lab import (
    arena,
    elo,
    engine_protocols,
    external_engines,
    ladder,
    players,
    tournament_file,
)
from azo.lab.tournament import backends
from azo.learning import generations, network, run_state
from azo.training import config, devices, metrics, network_files

GENERATIONS = "generations"
"""Folder of a run with a network for every rated generation."""


class RunMatches:
    """Plays the matches of one run; a `trainer.Matches`."""

    def __init__(self, settings: config.Config, game: protocol.Game):
        """Prepares the opponents; raises ValueError for an unknown one."""
        self.settings = settings
        self.game = game
        self.opponent = players.parse(settings.evaluation.opponent, game)
        names = settings.ratings.pool if settings.ratings.is_enabled else ()
        found = {name: _pool_player(name, game) for name in names}
        self.pool = {name: player for name, player in found.items() if player is not None}
        if found and not self.pool:
            raise ValueError(f"ratings.pool: none of {', '.join(names)} is installed")

    def gate(self, state: run_state.RunState, iteration: int) -> Iterator[metrics.Event]:
        """Plays the learner's network against the actor's; yields the result and the verdict."""
        assert state.actor_params is not None
        gate = self.settings.gate
        key = jax.random.fold_in(jax.random.key(self.settings.run.seed + 1), iteration)
        actor = self.player(state.actor_params, gate.num_simulations)
        match = self.match(state.variables(), actor, key, gate)
        wins, draws, losses = match.counts
        is_promoted = generations.passes(gate, wins=wins, draws=draws, losses=losses)
        fields = {
            "gate/score": match.score,
            "gate/is_promoted": int(is_promoted),
            "gate/generation": int(state.generation) + is_promoted,
        }
        text = f"gate score {match.score:.3f}, {'' if is_promoted else 'not '}promoted"
        yield metrics.Event("gate", _counts("gate", match) | fields, text=text)

    def evaluate(self, state: run_state.RunState, iteration: int) -> Iterator[metrics.Event]:
        """Plays a match of the run's network against the opponent of the settings."""
        start = time.perf_counter()
        key = jax.random.fold_in(jax.random.key(self.settings.run.seed), iteration)
        result = self.match(self.playing(state), self.opponent, key, self.settings.evaluation)
        low, high = result.interval()
        name = self.settings.evaluation.opponent
        fields = {
            "evaluation/opponent": name,
            "evaluation/score": result.score,
            "evaluation/score_low": low,
            "evaluation/score_high": high,
            "selfplay/evaluations": state.num_evaluations(),
            "time/evaluation_seconds": round(time.perf_counter() - start, 2),
        }
        fields |= _counts("evaluation", result)
        yield metrics.Event("evaluation", fields, text=f"against {name}: {result}")

    def rate(self, state: run_state.RunState, iteration: int) -> Iterator[metrics.Event]:
        """Keeps the network that plays, and rates it; first process alone.

        A kept network is a folder `generations/ITERATION` of the run, and names a player wherever
        one is expected. The run's metrics say which generations exist and which matches they have
        played. So a resumed run, which drops the events after its checkpoint, keeps and rates those
        anew, and plays no recorded match again.
        """
        if not devices.is_first():
            return
        start, ratings = time.perf_counter(), self.settings.ratings
        folder = self.settings.run.folder
        rated = [event["iteration"] for event in metrics.read(folder, metrics.RATING)]
        if iteration in rated:
            return
        variables = jax.device_get(self.playing(state))
        kept = folder / GENERATIONS
        if (kept / str(iteration)).exists():  # from before the checkpoint of a resumed run
            shutil.rmtree(kept / str(iteration))
        network_files.save(kept / str(iteration), variables, self.settings)

        matches = metrics.read(folder, metrics.RATING_MATCH)
        have_met = [opponent(event) for event in matches if event["iteration"] == iteration]
        key = jax.random.fold_in(jax.random.key(self.settings.run.seed + 2), iteration)
        notes = []
        for number, (other, contender) in enumerate(self.pool.items()):
            if other in have_met:
                continue
            try:
                result = self._play(variables, contender, jax.random.fold_in(key, number), ratings)
            except engine_protocols.EngineError as error:  # at its start; the run goes on
                notes.append(str(error))
                continue
            match: dict[str, Any] = _counts(metrics.RATING_MATCH, result)
            match[f"{metrics.RATING_MATCH}/opponent"] = other
            match[f"{metrics.RATING_MATCH}/pair_scores"] = [*(result.pair_scores or ())]
            yield metrics.Event(metrics.RATING_MATCH, match)
            matches.append({"iteration": iteration} | match)
        if not any(event["iteration"] == iteration for event in matches):
            return  # all opponents have failed

        pairings = [pairing(event) for event in matches]
        anchor = "random" if "random" in self.pool else next(iter(self.pool))
        if not ladder.RATINGS.keys().isdisjoint(self.pool):
            anchor = ladder.ANCHOR
        rating = ladder.rate(pairings, anchor)[name(iteration)]
        low, high = rating.interval
        missing = [name for name in ratings.pool if name not in self.pool]
        notes += [f"not installed: {', '.join(missing)}"] if missing else []
        text = f"Elo {rating.rating:.0f}, 95 % {low:.0f} to {high:.0f} ({anchor} 0)"
        fields = {
            "rating/elo": rating.rating,
            "rating/elo_low": low,
            "rating/elo_high": high,
            "rating/anchor": anchor,
            "time/rating_seconds": round(time.perf_counter() - start, 2),
        }
        yield metrics.Event(metrics.RATING, fields, text="; ".join([text, *notes]))

    def playing(self, state: run_state.RunState) -> network.Variables:
        """Returns the run's own network that plays: the actor's with a gate, else the learner's."""
        if self.settings.gate.is_enabled:
            assert state.actor_params is not None
            return state.actor_params
        return state.variables()

    def player(self, variables: network.Variables, num_simulations: int) -> players.Player:
        """Returns a network of the run as a player on the default device alone."""
        settings = self.settings
        trained = players.NetworkPlayer(
            jax.device_get(variables), self.game, settings.network, settings.search
        )
        return players.with_simulations(trained, num_simulations)

    def match(
        self,
        variables: network.Variables,
        opponent: backends.Contender,
        key: jax.Array,
        length: config.EvaluationConfig | generations.GateConfig,
    ) -> elo.MatchResult:
        """Plays a match in the first process, and returns the result for the network in all.

        The first match compiles; later ones with new variables do not.
        """
        counts = [0, 0, 0]
        if devices.is_first():
            counts = [*self._play(variables, opponent, key, length).counts]
        wins, draws, losses = devices.broadcast_from_first(counts)
        return elo.MatchResult(wins, draws, losses)

    def _play(
        self,
        variables: network.Variables,
        opponent: backends.Contender,
        key: jax.Array,
        length: config.EvaluationConfig | generations.GateConfig | config.RatingsConfig,
    ) -> elo.MatchResult:
        return arena.play_match(
            self.game,
            self.player(variables, length.num_simulations),
            opponent,
            key,
            num_games=length.num_games,
            opening_plies=self.settings.evaluation.opening_plies,
        )


def name(iteration: int) -> str:
    """Returns the name of a generation in tables."""
    return f"iteration {iteration}"


def opponent(event: Mapping[str, Any]) -> str:
    """Returns the player of the pool in a match's event."""
    return event[f"{metrics.RATING_MATCH}/opponent"]


def pairing(event: Mapping[str, Any]) -> elo.Pairing:
    """Returns the match of an event."""
    prefix = metrics.RATING_MATCH
    wins, draws, losses = (event[f"{prefix}/{field}"] for field in ("wins", "draws", "losses"))
    result = elo.MatchResult(wins, draws, losses, tuple(event[f"{prefix}/pair_scores"]))
    return elo.Pairing(name(event["iteration"]), opponent(event), result)


def _counts(kind: str, result: elo.MatchResult) -> dict[str, Any]:
    """Returns the fields of an event with the numbers of games."""
    names = (f"{kind}/{name}" for name in ("wins", "draws", "losses"))
    return dict(zip(names, result.counts, strict=True))


def _pool_player(name: str, game: protocol.Game) -> backends.Contender | None:
    """Returns a player of the pool, None for an engine that is not installed."""
    engine = tournament_file.shipped_engine(name)
    if engine is None:
        return players.parse(name, game)
    player = backends.external(engine, game)
    return player if external_engines.is_installed(engine) else None
