"""What the host does around the iterations of a run: gates, matches, metrics, checkpoints."""

import dataclasses
import functools
import time
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh

from azo.games import protocol
from azo.learning import generations, loop, network, replay, run_state, selfplay, statistics
from azo.measure import arena, diagnostics, evaluation, players, progress
from azo.run import checkpoint, config, console, devices, metrics, ratings


@dataclasses.dataclass
class Session:
    """One session of training; a run has several if it was stopped."""

    settings: config.Config
    game: protocol.Game
    mesh: Mesh
    player: network.NetworkConfig  # shape of the network that plays
    opponent: players.Player
    checkpoints: checkpoint.Checkpoints
    writer: metrics.MetricsWriter | None  # the first process has one
    screen: console.Console

    def __post_init__(self) -> None:
        earlier = metrics.read(self.settings.run.folder, "iteration")
        self.training_seconds = earlier[-1]["time/training_seconds"] if earlier else 0.0
        # The settings that each was compiled for, and the program.
        self.compiled: dict[generations.IterationKind, tuple[config.Config, Any]] = {}
        self.rater = None
        if self.writer is not None and self.settings.ratings.every:
            self.rater = ratings.Rater(self.settings, self.game, self.writer)

    def go_on(
        self, now: run_state.RunState, first: int, is_stopped: Callable[[], bool]
    ) -> run_state.RunState:
        """Iterates from `first` done ones on until the run ends or is stopped."""
        run = self.settings.run
        done = first
        reason = self.end_reason(now, done, self.score_at(done))
        self.announce(first, reason)
        self.rate(now, first)  # a session that was stopped left it to this one
        while reason is None:
            iterate = self.compile(now)
            start = time.perf_counter()
            now, found = iterate(now)
            found = jax.device_get(found)
            seconds = time.perf_counter() - start
            self.training_seconds += seconds
            done += 1

            named = self.named_metrics(now, found, seconds)
            now = self.end_generation(now, done)
            is_last = self.end_reason(now, done, None) is not None
            if done % run.log_every == 0 or is_last:
                self.write("iteration", done, named)
            is_due = evaluation.is_due(self.settings.evaluation, done, is_last=is_last)
            is_due = is_due and not devices.any_process(is_stopped())
            result = self.evaluate(now, done) if is_due else None
            match = f"against {self.settings.evaluation.opponent}: {result}" if result else None
            self.screen.update({"iteration": done, **named}, match)
            is_due = progress.is_due(self.settings.ratings, done)
            if is_due and not devices.any_process(is_stopped()):
                self.rate(now, done)
            reason = self.end_reason(now, done, result.score if result else None)
            stops = devices.any_process(is_stopped())
            if reason:
                self.write("end", done, {"reason": reason})
            if result or done % run.save_every == 0 or reason or stops:
                self.checkpoints.save(done, now, self.settings, result.score if result else None)
            if stops and not reason:
                self.screen.note(f"stopped and saved after iteration {done}")
                break
        return now

    def end_reason(self, now: run_state.RunState, done: int, score: float | None) -> str | None:
        """Returns why the run is over, None while it goes on; `score` is that of a match now."""
        run, until = self.settings.run, self.settings.evaluation.until_score
        if done >= run.num_iterations:
            return f"all {run.num_iterations} iterations are done"
        if run.max_evaluations is not None and now.num_evaluations() >= run.max_evaluations:
            return f"all {run.max_evaluations:,} evaluations are used"
        if score is not None and until is not None and score >= until:
            return f"score {score:.3f} against {self.settings.evaluation.opponent}"
        return None

    def score_at(self, done: int) -> float | None:
        """Returns the score of the match after so many iterations, if there was one."""
        matches = metrics.read(self.settings.run.folder, "evaluation")
        scores = [match["evaluation/score"] for match in matches if match["iteration"] == done]
        return scores[-1] if scores else None

    def announce(self, first: int, reason: str | None) -> None:
        device = jax.devices()[0]
        where = f"{self.mesh.size} x {device.device_kind} ({device.platform})"
        if jax.process_count() > 1:
            where += f" of {jax.process_count()} processes"
        if not first:
            self.screen.note(f"training on {where}; Ctrl-C saves, the same command resumes")
        elif reason is None:
            self.screen.note(f"resuming after iteration {first} on {where}")
        elif first >= self.settings.run.num_iterations:
            self.screen.note(f"{reason}; --run.num-iterations {2 * first} would go on")
        else:
            self.screen.note(f"the run has ended: {reason}")

    def compile(self, now: run_state.RunState) -> Any:
        """Returns the next iteration's program; new ones only as generations change settings."""
        total_steps = self.settings.run.num_iterations * self.settings.learner.num_steps
        generation = int(now.generation)
        chosen = config.at_generation(self.settings, generation)
        kind = self.iteration_kind(now)
        if self.compiled.get(kind, (None, None))[0] == chosen:
            return self.compiled[kind][1]
        start = time.perf_counter()
        iterate = loop.build(
            self.game,
            chosen,
            self.mesh,
            total_steps=total_steps,
            kind=kind,
            player=self.player,
        )
        compiled = iterate.lower(now).compile()
        self.compiled[kind] = chosen, compiled
        seconds = time.perf_counter() - start
        self.screen.note(f"compiled in {seconds:.0f} s")
        self.screen.start_clock()
        found = {"time/compilation_seconds": round(seconds, 2)}
        self.write("compilation", int(now.iteration), found)
        return compiled

    def iteration_kind(self, now: run_state.RunState) -> generations.IterationKind:
        """Returns what the next iteration is for."""
        found = self.progress(now)
        assert found is not None, "a generation's end is dealt with as soon as it comes"
        return found

    def progress(self, now: run_state.RunState) -> generations.IterationKind | None:
        if self.settings.endings.deep_positions:
            return "learn"  # from what the replay was filled with
        steps = int(now.learner.num_steps) - int(now.generation_steps)
        return generations.next_iteration(
            self.settings.generation,
            num_games=int(now.num_games) - int(now.generation_games),
            num_samples=steps * self.settings.learner.batch_size,
        )

    def end_generation(self, now: run_state.RunState, done: int) -> run_state.RunState:
        """Returns the state of the next generation if this one is complete."""
        if self.progress(now) is not None:
            return now
        gate = self.settings.gate
        begins_window = self.settings.replay.window_generations > 0
        if not gate.is_enabled:
            return now.next_generation(is_promoted=False, begins_window=begins_window)
        assert now.actor_params is not None
        key = jax.random.fold_in(jax.random.key(self.settings.run.seed + 1), done)
        verdict = generations.judge(gate, self.gate_match, now.variables(), now.actor_params, key)
        now = now.with_evaluations(self.gate_evaluations())
        if verdict.is_promoted:
            now = now.next_generation(is_promoted=True, begins_window=begins_window)
        else:
            plays_on = gate.after_failure == "play" or now.num_failures + 1 >= gate.max_failures
            now = now.failed(restarts_games=bool(plays_on))
        score = verdict.score
        self.write(
            "gate",
            done,
            {
                "gate/score": score.points,
                "gate/wins": score.wins,
                "gate/draws": score.draws,
                "gate/losses": score.losses,
                "gate/is_promoted": int(verdict.is_promoted),
                "gate/generation": int(now.generation),
            },
        )
        outcome = "promoted" if verdict.is_promoted else "not promoted"
        self.screen.note(f"iteration {done}: gate score {score.points:.3f}, {outcome}")
        return now

    def gate_evaluations(self) -> int:
        """Returns the evaluations of a gate's match if all games have as many plies as squares."""
        rows, columns = self.game.board_shape
        gate = self.settings.gate
        return gate.num_games * rows * columns * (gate.num_simulations + 1)

    def gate_match(self, new: Any, best: Any, key: jax.Array) -> generations.GateScore:
        gate = self.settings.gate
        first, second = (
            players.network_player(self.game, self.trained(variables), gate.num_simulations)
            for variables in (new, best)
        )
        result = _played_by_first(
            lambda: arena.play_match(
                self.game,
                first,
                second,
                key,
                num_games=gate.num_games,
                opening_plies=self.settings.evaluation.opening_plies,
            )
        )
        return generations.GateScore(result.wins, result.draws, result.losses)

    def evaluate(self, now: run_state.RunState, done: int) -> arena.MatchResult:
        """Plays a match against the opponent of the settings, and looks into the replay."""
        start = time.perf_counter()
        key = jax.random.fold_in(jax.random.key(self.settings.run.seed), done)
        trained, match = self.trained(self.playing(now)), self.settings.evaluation
        result = _played_by_first(
            lambda: evaluation.against_opponent(self.game, trained, self.opponent, key, match)
        )
        low, high = result.interval()
        self.write(
            "evaluation",
            done,
            {
                "evaluation/opponent": match.opponent,
                "evaluation/wins": result.wins,
                "evaluation/draws": result.draws,
                "evaluation/losses": result.losses,
                "evaluation/score": result.score,
                "evaluation/score_low": low,
                "evaluation/score_high": high,
                "selfplay/evaluations": now.num_evaluations(),
                "time/evaluation_seconds": round(time.perf_counter() - start, 2),
                "time/training_seconds": round(self.training_seconds, 2),
            },
        )
        self.inspect(now, done)
        return result

    def rate(self, now: run_state.RunState, done: int) -> None:
        """Keeps and rates the network that plays, if that is due and not yet done."""
        if self.rater is None or not progress.is_due(self.settings.ratings, done):
            return
        if not self.rater.is_rated(done):
            found = self.rater.rate(jax.device_get(self.playing(now)), done)
            self.screen.note(f"iteration {done}: {found}")

    def playing(self, now: run_state.RunState) -> Any:
        """Returns the run's network that plays: the best one, if there is a gate."""
        return now.actor_params if self.settings.gate.is_enabled else now.variables()

    def inspect(self, now: run_state.RunState, done: int) -> None:
        """Writes how often positions of the replay repeat, on the first device's ring."""
        if self.writer is None:
            return
        ring = jax.tree.map(lambda x: x.addressable_shards[0].data, now.replay)
        found = _repeats(self.game, ring)
        self.write(
            "replay",
            done,
            {f"replay/{name}": value for name, value in dataclasses.asdict(found).items()},
        )

    def trained(self, variables: Any) -> players.TrainedNetwork:
        """Returns the network on the default device alone, where matches are played."""
        return players.TrainedNetwork(
            jax.device_get(variables), self.settings.network, self.settings.search
        )

    def named_metrics(
        self, now: run_state.RunState, found: loop.Metrics, seconds: float
    ) -> dict[str, Any]:
        """Returns the figures of an iteration by their names in `metrics.jsonl`."""
        named: dict[str, Any] = {
            "generation": int(now.generation),
            "selfplay/games": int(now.num_games),
            "selfplay/evaluations": now.num_evaluations(),
        }
        if found.played is not None:
            plays = self.settings.selfplay
            evaluations = float(found.played.evaluations_by_ply.sum())
            positions = plays.num_games * plays.num_plies
            named |= {
                "selfplay/games_per_second": float(found.played.games.num_games) / seconds,
                "selfplay/positions_per_second": positions / seconds,
                "selfplay/simulations_per_second": (evaluations - positions) / seconds,
                **statistics.describe(found.played),
            }
        losses, new = found.losses, found.new_losses
        named |= {
            "learner/policy_loss": float(losses.policy),
            "learner/value_loss": float(losses.value),
            "learner/target_entropy": float(losses.policy_entropy),
            "learner/entropy": float(losses.entropy),
            "learner/gradient_norm": float(losses.gradient_norm),
            "learner/new_policy_loss": float(new.policy),
            "learner/new_value_loss": float(new.value),
            "learner/learning_rate": float(found.learning_rate),
            "replay/size": int(found.replay_size),
            "replay/age": float(found.replay_age),
            "replay/unique_share": float(found.unique_share),
        }
        network_config = self.settings.network
        if network_config.has_ownership_head:
            named["learner/ownership_loss"] = float(losses.ownership)
        if network_config.has_margin_head:
            named["learner/margin_loss"] = float(losses.margin)
        if found.threshold is not None and found.false_positive_share is not None:
            named["resignation/threshold"] = float(found.threshold)
            named["resignation/false_positive_share"] = float(found.false_positive_share)
        return named | {
            "time/iteration_seconds": round(seconds, 4),
            "time/training_seconds": round(self.training_seconds, 2),
        }

    def write(self, event: str, iteration: int, found: Mapping[str, Any]) -> None:
        if self.writer is not None:
            self.writer.write(event, iteration, found)


@functools.partial(jax.jit, static_argnums=0)
def _repeats(game: protocol.Game, ring: replay.ReplayBuffer) -> diagnostics.Repeats:
    return diagnostics.repeats(
        game,
        ring.board,
        selfplay.restore(ring.policy),
        ring.value.astype(jnp.float32),
        jnp.arange(ring.value.shape[0]) < ring.size[0],
    )


def _played_by_first(play: Callable[[], arena.MatchResult]) -> arena.MatchResult:
    """Returns in every process the result of a match that the first alone plays."""
    counts = [0, 0, 0]
    if devices.is_first():
        result = play()
        counts = [result.wins, result.draws, result.losses]
    return arena.MatchResult(*devices.broadcast_from_first(counts))
