"""Hooks of the trainer: the gate, the evaluation, the ratings.

A hook takes the state of a run and the number of its iterations, and yields events for the metrics.
Matches are played by the first process alone, and all processes receive the result. A hook that
plays matches waits for the other processes, so every process has to call it.
"""

import dataclasses
import functools
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax

from azo.games import protocol
from azo.learning import generations, network, run_state
from azo.measure import arena, generation_elo, players
from azo.run import config, devices, metrics, network_files

GENERATIONS = "generations"
"""Folder of a run with a network for every rated generation."""

Hook = Callable[[run_state.RunState, int], Iterator[metrics.Event]]


@dataclasses.dataclass(frozen=True)
class Hooks:
    """The hooks of one run."""

    gate: Hook
    evaluate: Hook
    rate: Hook


def make(settings: config.Config, game: protocol.Game, load: players.Load) -> Hooks:
    """Returns the hooks of a run; raises ValueError for an unknown opponent.

    Args:
      settings: of the run.
      game: its rules.
      load: reads the networks that the settings name as opponents.
    """
    opponent = players.parse(settings.evaluation.opponent, game, load)
    names = settings.ratings.pool if settings.ratings.every else ()
    pool = {name: players.parse(name, game, load) for name in names}
    return Hooks(
        gate=functools.partial(gate, settings, game),
        evaluate=functools.partial(evaluate, settings, game, opponent),
        rate=functools.partial(rate, settings, game, pool),
    )


def gate(
    settings: config.Config, game: protocol.Game, state: run_state.RunState, iteration: int
) -> Iterator[metrics.Event]:
    """Plays the learner's network against the actor's, and yields the result and the verdict."""
    assert state.actor_params is not None
    key = jax.random.fold_in(jax.random.key(settings.run.seed + 1), iteration)
    match = gate_match(settings, game, state.variables(), state.actor_params, key)
    is_promoted = generations.passes(
        settings.gate, wins=match.wins, draws=match.draws, losses=match.losses
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


def gate_match(
    settings: config.Config,
    game: protocol.Game,
    new: network.Variables,
    old: network.Variables,
    key: jax.Array,
) -> arena.MatchResult:
    """Plays a match of the gate, as seen by the new network."""
    first, second = (
        players.network_player(game, _trained(settings, variables), settings.gate.num_simulations)
        for variables in (new, old)
    )
    return _play_in_first(
        game,
        first,
        second,
        key,
        num_games=settings.gate.num_games,
        opening_plies=settings.evaluation.opening_plies,
    )


def gate_evaluations(settings: config.Config, game: protocol.Game) -> int:
    """Returns the network evaluations of a gate's match whose games fill the board."""
    rows, columns = game.board_shape
    gate = settings.gate
    return gate.num_games * rows * columns * (gate.num_simulations + 1)


def evaluate(
    settings: config.Config,
    game: protocol.Game,
    opponent: players.Player,
    state: run_state.RunState,
    iteration: int,
) -> Iterator[metrics.Event]:
    """Plays a match of the run's network against the opponent of the settings."""
    start = time.perf_counter()
    key = jax.random.fold_in(jax.random.key(settings.run.seed), iteration)
    result = evaluation_match(settings, game, playing(settings, state), opponent, key)
    low, high = result.interval()
    name = settings.evaluation.opponent
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


def evaluation_match(
    settings: config.Config,
    game: protocol.Game,
    variables: network.Variables,
    opponent: players.Player,
    key: jax.Array,
) -> arena.MatchResult:
    """Plays a match of a network that searches greedily, as seen by the network.

    The first match compiles; later ones with new variables do not.
    """
    match = settings.evaluation
    return _play_in_first(
        game,
        players.network_player(game, _trained(settings, variables), match.num_simulations),
        opponent,
        key,
        num_games=match.num_games,
        opening_plies=match.opening_plies,
    )


def rate(
    settings: config.Config,
    game: protocol.Game,
    pool: Mapping[str, players.Player],
    state: run_state.RunState,
    iteration: int,
) -> Iterator[metrics.Event]:
    """Keeps the network that plays, and rates it with the earlier ones; the first process alone.

    A kept network is a folder `generations/ITERATION` of the run, and names a player wherever one
    is expected. The run's metrics say which generations exist and which matches they have played.
    So a resumed run, which drops the events after its checkpoint, keeps and rates those anew, and
    plays no recorded match again.

    Args:
      settings: of the run.
      game: its rules.
      pool: the players of `ratings.pool` by their names.
      state: the state of the run.
      iteration: iterations done.
    """
    if not devices.is_first():
        return
    ratings, folder = settings.ratings, settings.run.folder
    rated = [event["iteration"] for event in metrics.read(folder, generation_elo.RATING)]
    if iteration in rated:
        return
    variables = jax.device_get(playing(settings, state))
    kept = folder / GENERATIONS
    if (kept / str(iteration)).exists():  # from before the checkpoint of a resumed run
        shutil.rmtree(kept / str(iteration))
    network_files.save(kept / str(iteration), variables, settings)

    def player_of(opponent: generation_elo.Player) -> players.Player:
        if isinstance(opponent, str):
            return pool[opponent]
        loaded = variables
        if opponent != iteration:
            loaded, _ = network_files.load(kept / str(opponent))
        trained = _trained(settings, loaded)
        return players.network_player(game, trained, ratings.num_simulations)

    run_key = jax.random.key(settings.run.seed + 2)
    events = generation_elo.rate(
        ratings,
        game,
        player_of,
        jax.random.fold_in(run_key, iteration),
        iteration,
        earlier=[n for n in rated if n < iteration and (kept / str(n)).is_dir()],
        matches=metrics.read(folder, generation_elo.MATCH),
        opening_plies=settings.evaluation.opening_plies,
    )
    for kind, fields, text in events:
        yield metrics.Event(kind, fields, text, has_curves=kind == generation_elo.RATING)


def playing(settings: config.Config, state: run_state.RunState) -> network.Variables:
    """Returns the run's own network that plays: the actor's with a gate, else the learner's."""
    if settings.gate.is_enabled:
        assert state.actor_params is not None
        return state.actor_params
    return state.variables()


def _trained(settings: config.Config, variables: network.Variables) -> players.TrainedNetwork:
    """Returns a network on the default device alone, where matches are played."""
    return players.TrainedNetwork(jax.device_get(variables), settings.network, settings.search)


def _play_in_first(*match: Any, **settings: Any) -> arena.MatchResult:
    """Plays a match in the first process, and returns the result in all; see `play_match`."""
    counts = [0, 0, 0]
    if devices.is_first():
        result = arena.play_match(*match, **settings)
        counts = [result.wins, result.draws, result.losses]
    return arena.MatchResult(*devices.broadcast_from_first(counts))
