"""Learns a game: `python -m azo.train --config configs/NAME.toml [--section.setting value]`.

The device does the work, one compiled call an iteration; the host prints, evaluates and saves.
With `--distributed` several processes do so together, and the first one speaks for all.
Ctrl-C and SIGTERM end the run after the iteration under way, saved; the same command resumes it.
"""

import contextlib
import dataclasses
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

import jax
import rich.console

from azo import checkpoint, config, console, devices, metrics, networks
from azo.games import protocol, registry
from azo.learning import generations, loop, state
from azo.measure import arena, evaluation, players


def main(argv: Sequence[str]) -> int:
    """Trains until the last iteration or until told to stop; returns the exit code."""
    settings = config.load(argv)
    with StopRequest() as stop:
        train(settings, stop)
    return 0


class StopRequest:
    """Becomes true at the first SIGINT or SIGTERM; a second one interrupts at once."""

    def __init__(self) -> None:
        self.is_made = False
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> "StopRequest":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._previous[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self.is_made:
            raise KeyboardInterrupt
        self.is_made = True


def train(settings: config.Config, stop: StopRequest | None = None) -> state.RunState:
    """Runs, or resumes, the run in `settings.run.folder`; returns its last state."""
    stop = stop or StopRequest()
    run = settings.run
    mesh = loop.make_mesh(devices.prepare(settings))
    game = registry.make(settings.game)
    opponent = players.parse(settings.evaluation.opponent, game, networks.loader(game))
    with checkpoint.Checkpoints(run.folder, keep=run.keep_checkpoints) as checkpoints:
        checkpoints.check_resumable(settings)
        total_steps = run.num_iterations * settings.learner.num_steps
        now = loop.begin(game, settings, mesh, seed=run.seed, total_steps=total_steps)
        (first,) = devices.told_by_first([checkpoints.latest_step() or 0])
        if first:
            now = checkpoints.restore(now, first)
        with _writer(settings, first) as writer, _screen(settings, game, first) as screen:
            session = _Session(settings, game, opponent, checkpoints, writer, screen)
            session.announce(first, mesh.size)
            if first < run.num_iterations:
                iterate = session.compile(
                    loop.build(game, settings, mesh, total_steps=total_steps), now
                )
                now = session.go_on(iterate, now, first, stop)
    return now


def _writer(
    settings: config.Config, first: int
) -> contextlib.AbstractContextManager[metrics.MetricsWriter | None]:
    if not devices.is_first():
        return contextlib.nullcontext()
    return metrics.MetricsWriter(settings.run.folder, last_iteration=first)


def _screen(settings: config.Config, game: protocol.Game, first: int) -> console.Console:
    return console.Console(
        settings.run.num_iterations,
        f"{game.name} in {settings.run.folder}",
        first_iteration=first,
        console=None if devices.is_first() else rich.console.Console(quiet=True),
    )


@dataclasses.dataclass
class _Session:
    """What the host does around the iterations."""

    settings: config.Config
    game: protocol.Game
    opponent: players.Player
    checkpoints: checkpoint.Checkpoints
    writer: metrics.MetricsWriter | None  # the first process has one
    screen: console.Console

    def __post_init__(self) -> None:
        earlier = metrics.read(self.settings.run.folder, "iteration")
        self.training_seconds = earlier[-1]["time/training_seconds"] if earlier else 0.0

    def write(self, event: str, iteration: int, found: Mapping[str, Any]) -> None:
        if self.writer is not None:
            self.writer.write(event, iteration, found)

    def announce(self, first: int, num_devices: int) -> None:
        device = jax.devices()[0]
        where = f"{num_devices} x {device.device_kind} ({device.platform})"
        if jax.process_count() > 1:
            where += f" of {jax.process_count()} processes"
        last = self.settings.run.num_iterations
        if not first:
            self.screen.note(f"training on {where}; Ctrl-C saves, the same command resumes")
        elif first < last:
            self.screen.note(f"resuming after iteration {first} on {where}")
        else:
            self.screen.note(
                f"all {last} iterations are done; --run.num-iterations {2 * last} would go on"
            )

    def compile(self, iterate: Any, now: state.RunState) -> Any:
        start = time.perf_counter()
        compiled = iterate.lower(now).compile()
        seconds = time.perf_counter() - start
        self.screen.note(f"compiled in {seconds:.0f} s")
        self.screen.start_clock()
        self.write(
            "compilation", int(now.iteration), {"time/compilation_seconds": round(seconds, 2)}
        )
        return compiled

    def go_on(
        self, iterate: Any, now: state.RunState, first: int, stop: StopRequest
    ) -> state.RunState:
        run = self.settings.run
        for done in range(first + 1, run.num_iterations + 1):
            start = time.perf_counter()
            now, found = iterate(now)
            found = jax.device_get(found)
            seconds = time.perf_counter() - start
            self.training_seconds += seconds
            is_last = done == run.num_iterations

            now = self.gate(now, done)
            named = self.named_metrics(found, int(now.num_games), seconds)
            if done % run.log_every == 0 or is_last:
                self.write("iteration", done, named)
            is_due = evaluation.is_due(self.settings.evaluation, done, is_last=is_last)
            is_due = is_due and not devices.asked_by_any(stop.is_made)
            result = self.evaluate(now, done) if is_due else None
            match = f"against {self.settings.evaluation.opponent}: {result}" if result else None
            self.screen.update({"iteration": done, **named}, match)
            is_stopped = devices.asked_by_any(stop.is_made)
            if result or done % run.save_every == 0 or is_last or is_stopped:
                self.checkpoints.save(done, now, self.settings, result.score if result else None)
            if is_stopped and not is_last:
                self.screen.note(f"stopped and saved after iteration {done}")
                break
        return now

    def gate(self, now: state.RunState, done: int) -> state.RunState:
        config = self.settings.gate
        if not config.is_enabled or done % config.every:
            return now
        assert now.best is not None
        key = jax.random.fold_in(jax.random.key(self.settings.run.seed + 1), done)
        verdict = generations.judge(config, self.gate_match, now.variables(), now.best, key)
        if verdict.is_promoted:
            now = now.promoted()
        self.write(
            "gate",
            done,
            {"gate/score": verdict.score, "gate/generation": int(now.generation)},
        )
        outcome = "promoted" if verdict.is_promoted else "not promoted"
        self.screen.note(f"iteration {done}: gate score {verdict.score:.3f}, {outcome}")
        return now

    def gate_match(self, new: Any, best: Any, key: jax.Array) -> float:
        config = self.settings.gate
        first, second = (
            players.network_player(self.game, self.trained(variables), config.num_simulations)
            for variables in (new, best)
        )
        return _played_by_first(
            lambda: arena.play_match(
                self.game,
                first,
                second,
                key,
                num_games=config.num_games,
                opening_plies=self.settings.evaluation.opening_plies,
            )
        ).score

    def evaluate(self, now: state.RunState, done: int) -> arena.MatchResult:
        variables = now.variables() if now.best is None else now.best
        start = time.perf_counter()
        key = jax.random.fold_in(jax.random.key(self.settings.run.seed), done)
        trained, config = self.trained(variables), self.settings.evaluation
        result = _played_by_first(
            lambda: evaluation.against_opponent(self.game, trained, self.opponent, key, config)
        )
        low, high = result.interval()
        self.write(
            "evaluation",
            done,
            {
                "evaluation/opponent": self.settings.evaluation.opponent,
                "evaluation/wins": result.wins,
                "evaluation/draws": result.draws,
                "evaluation/losses": result.losses,
                "evaluation/score": result.score,
                "evaluation/score_low": low,
                "evaluation/score_high": high,
                "time/evaluation_seconds": round(time.perf_counter() - start, 2),
                "time/training_seconds": round(self.training_seconds, 2),
            },
        )
        return result

    def trained(self, variables: Any) -> players.TrainedNetwork:
        """Returns the network on the default device alone, where matches are played."""
        return players.TrainedNetwork(
            jax.device_get(variables), self.settings.network, self.settings.search
        )

    def named_metrics(
        self, found: loop.Metrics, num_games: int, seconds: float
    ) -> dict[str, float | int]:
        plays, search = self.settings.selfplay, self.settings.search
        positions_per_second = plays.num_games * plays.num_plies / seconds
        return {
            "selfplay/games": num_games,
            "selfplay/games_per_second": float(found.played.num_games) / seconds,
            "selfplay/positions_per_second": positions_per_second,
            "selfplay/simulations_per_second": positions_per_second * search.num_simulations,
            "selfplay/mean_plies": float(found.played.mean_plies),
            "selfplay/first_player_score": float(found.played.first_player_score),
            "selfplay/policy_entropy": float(found.played.policy_entropy),
            "learner/policy_loss": float(found.losses.policy),
            "learner/value_loss": float(found.losses.value),
            "learner/target_entropy": float(found.losses.policy_entropy),
            "learner/gradient_norm": float(found.losses.gradient_norm),
            "learner/learning_rate": float(found.learning_rate),
            "replay/size": int(found.replay_size),
            "time/iteration_seconds": round(seconds, 4),
            "time/training_seconds": round(self.training_seconds, 2),
        }


def _played_by_first(play: Callable[[], arena.MatchResult]) -> arena.MatchResult:
    """Returns in every process the result of a match that the first alone plays."""
    counts = [0, 0, 0]
    if devices.is_first():
        result = play()
        counts = [result.wins, result.draws, result.losses]
    return arena.MatchResult(*devices.told_by_first(counts))


if __name__ == "__main__":
    sys.exit(config.run_main(main))
