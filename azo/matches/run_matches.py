"""The matches of a run: the gate, the evaluation, the ratings. See `shared_matches.Matches`."""

import time
from collections.abc import Iterator
from typing import Any

import jax

from azo.games import protocol
from azo.learning import generations, run_state
from azo.matches import arena, elo, ratings
from azo.matches.tournament import backends
from azo.networks import network, network_files
from azo.opponents import players
from azo.storage import files
from azo.training import config, metrics

GENERATIONS = "generations"
"""Folder of a run with a network for every rated generation."""
_GAIN = 80  # Elo that is expected from one rating to the next


class RunMatches:
    """Plays the matches of one run; a `shared_matches.Matches`."""

    def __init__(self, settings: config.Config, game: protocol.Game):
        """Prepares the opponents; raises ValueError for an unknown one."""
        self.settings = settings
        self.game = game
        self.opponent = players.parse(settings.evaluation.opponent, game)
        self.rater = ratings.Rater(game) if settings.ratings.num_points else None
        files.check_place(settings.run.folder / GENERATIONS, settings.run.folder)

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

    def compile_ratings(self, state: run_state.RunState) -> None:
        """Compiles the search of the ratings, if there are any."""
        if self.rater is not None:
            num_simulations = self.settings.ratings.num_simulations
            self.rater.compile(self.player(self.playing(state), num_simulations))

    def rate(
        self, state: run_state.RunState, iteration: int, num_games: int
    ) -> Iterator[metrics.Event]:
        """Keeps the network that plays, and rates it on the ladder.

        It meets the next weaker and the next stronger player, by what is expected after the latest
        rating of the run. A saved network is a folder `generations/ITERATION` of the run, and
        names a player wherever one is expected.
        """
        rated = metrics.read(self.settings.run.folder, metrics.RATING)
        if any(event["iteration"] == iteration for event in rated):
            return
        start = time.perf_counter()
        variables = jax.device_get(self.playing(state))
        folder = self.settings.run.folder
        kept = folder / GENERATIONS / str(iteration)
        files.remove_folder(kept, folder)  # from before the checkpoint of a resumed run
        network_files.save(kept, variables, self.settings, inside=folder)

        key = jax.random.fold_in(jax.random.key(self.settings.run.seed + 2), iteration)
        player = self.player(variables, self.settings.ratings.num_simulations)
        expected = rated[-1]["rating/elo"] + _GAIN if rated else None
        assert self.rater is not None
        measured = self.rater.measure(player, key, num_games, expected)
        low, high = measured.standing.interval
        fields = {
            "rating/elo": measured.standing.rating,
            "rating/elo_low": low,
            "rating/elo_high": high,
            "rating/discs_lost": measured.discs_lost,
            "rating/summary": str(measured),
            "rating/opponents": [*measured.results],
            "rating/opponents_elo": [self.rater.ladder[name] for name in measured.results],
            "rating/results": [result.counts for result in measured.results.values()],
            "time/rating_seconds": round(time.perf_counter() - start, 2),
        }
        yield metrics.Event(metrics.RATING, fields, text=str(measured))

    def playing(self, state: run_state.RunState) -> network.Variables:
        """Returns the run's own network that plays: the actor's with a gate, else the learner's."""
        if self.settings.gate.is_enabled:
            assert state.actor_params is not None
            return state.actor_params
        return state.variables()

    def player(self, variables: network.Variables, num_simulations: int) -> players.NetworkPlayer:
        """Returns a network of the run as a player on only the default device."""
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
        """Plays a match, and returns the result for the network.

        The first match compiles; later ones with new variables do not.
        """
        return arena.play_match(
            self.game,
            self.player(variables, length.num_simulations),
            opponent,
            key,
            num_games=length.num_games,
            opening_plies=self.settings.evaluation.opening_plies,
        )


def _counts(kind: str, result: elo.MatchResult) -> dict[str, Any]:
    """Returns the fields of an event with the numbers of games."""
    names = (f"{kind}/{name}" for name in ("wins", "draws", "losses"))
    return dict(zip(names, result.counts, strict=True))
