"""Hooks of the trainer: the gate, the evaluation, the ratings.

A hook takes the state of a run and the number of its iterations, and yields events for the metrics.
Matches are played by the first process alone, and all processes receive the result. A hook that
plays matches waits for the other processes, so every process has to call it.
"""

import shutil
import time
from collections.abc import Iterator

import jax

from azo.games import othello, protocol
from azo.learning import generations, network, run_state
from azo.measure import arena, external_engines, generation_elo, players
from azo.run import config, devices, metrics, network_files, tournament_file

GENERATIONS = "generations"
"""Folder of a run with a network for every rated generation."""


class Hooks:
    """The hooks of one run."""

    def __init__(self, settings: config.Config, game: protocol.Game, load: players.Load):
        """Prepares the opponents, networks by `load`; raises ValueError for an unknown one."""
        self.settings = settings
        self.game = game
        self.opponent = players.parse(settings.evaluation.opponent, game, load)
        names = settings.ratings.pool if settings.ratings.is_enabled else ()
        found = {name: _pool_player(name, game, load) for name in names}
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
        is_promoted = generations.passes(
            gate, wins=match.wins, draws=match.draws, losses=match.losses
        )
        yield metrics.Event(
            "gate",
            {
                "gate/score": match.score,
                "gate/wins": match.wins,
                "gate/draws": match.draws,
                "gate/losses": match.losses,
                "gate/is_promoted": int(is_promoted),
                "gate/generation": int(state.generation) + is_promoted,
            },
            text=f"gate score {match.score:.3f}, {'' if is_promoted else 'not '}promoted",
        )

    def gate_evaluations(self) -> int:
        """Returns the network evaluations of a gate's match whose games fill the board."""
        rows, columns = self.game.board_shape
        gate = self.settings.gate
        return gate.num_games * rows * columns * (gate.num_simulations + 1)

    def evaluate(self, state: run_state.RunState, iteration: int) -> Iterator[metrics.Event]:
        """Plays a match of the run's network against the opponent of the settings."""
        start = time.perf_counter()
        key = jax.random.fold_in(jax.random.key(self.settings.run.seed), iteration)
        result = self.match(self.playing(state), self.opponent, key, self.settings.evaluation)
        low, high = result.interval()
        name = self.settings.evaluation.opponent
        yield metrics.Event(
            "evaluation",
            {
                "evaluation/opponent": name,
                "evaluation/wins": result.wins,
                "evaluation/draws": result.draws,
                "evaluation/losses": result.losses,
                "evaluation/score": result.score,
                "evaluation/score_low": low,
                "evaluation/score_high": high,
                "selfplay/evaluations": state.num_evaluations(),
                "time/evaluation_seconds": round(time.perf_counter() - start, 2),
            },
            text=f"against {name}: {result}",
        )

    def rate(self, state: run_state.RunState, iteration: int) -> Iterator[metrics.Event]:
        """Keeps the network that plays, and rates it with the earlier ones; first process alone.

        A kept network is a folder `generations/ITERATION` of the run, and names a player wherever
        one is expected. The run's metrics say which generations exist and which matches they have
        played. So a resumed run, which drops the events after its checkpoint, keeps and rates those
        anew, and plays no recorded match again.
        """
        if not devices.is_first():
            return
        pool = {"pool": tuple(self.pool)}
        ratings, folder = self.settings.ratings.model_copy(update=pool), self.settings.run.folder
        rated = [event["iteration"] for event in metrics.read(folder, generation_elo.RATING)]
        if iteration in rated:
            return
        variables = jax.device_get(self.playing(state))
        kept = folder / GENERATIONS
        if (kept / str(iteration)).exists():  # from before the checkpoint of a resumed run
            shutil.rmtree(kept / str(iteration))
        network_files.save(kept / str(iteration), variables, self.settings)

        def player_of(opponent: generation_elo.Player) -> generation_elo.Opponent:
            if isinstance(opponent, str):
                return self.pool[opponent]
            loaded = variables
            if opponent != iteration:
                loaded, _ = network_files.load(kept / str(opponent))
            return self.player(loaded, ratings.num_simulations)

        missing = ", ".join(name for name in self.settings.ratings.pool if name not in pool["pool"])
        run_key = jax.random.key(self.settings.run.seed + 2)
        events = generation_elo.rate(
            ratings,
            self.game,
            player_of,
            jax.random.fold_in(run_key, iteration),
            iteration,
            earlier=[n for n in rated if n < iteration and (kept / str(n)).is_dir()],
            matches=metrics.read(folder, generation_elo.MATCH),
            opening_plies=self.settings.evaluation.opening_plies,
        )
        for kind, fields, text in events:
            text += f"; not installed: {missing}" * bool(text and missing)
            yield metrics.Event(kind, fields, text, has_curves=kind == generation_elo.RATING)

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
        opponent: players.Player,
        key: jax.Array,
        length: config.EvaluationConfig | generations.GateConfig,
    ) -> arena.MatchResult:
        """Plays a match in the first process, and returns the result for the network in all.

        The first match compiles; later ones with new variables do not.
        """
        counts = [0, 0, 0]
        if devices.is_first():
            result = arena.play_match(
                self.game,
                self.player(variables, length.num_simulations),
                opponent,
                key,
                num_games=length.num_games,
                opening_plies=self.settings.evaluation.opening_plies,
            )
            counts = [result.wins, result.draws, result.losses]
        return arena.MatchResult(*devices.broadcast_from_first(counts))


def _pool_player(
    name: str, game: protocol.Game, load: players.Load
) -> generation_elo.Opponent | None:
    """Returns a player of the pool, None for an engine that is not installed."""
    engine = tournament_file.shipped_engine(name)
    if engine is None:
        return players.parse(name, game, load)
    if not isinstance(game, othello.Othello):
        raise ValueError(f"ratings.pool: {name} plays Othello, not {game.name}")
    return engine if external_engines.is_installed(engine) else None
