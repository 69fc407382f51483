"""Training: calls of the compiled iteration, with matches, metrics and checkpoints between them.

`Trainer.run` is the main loop.
"""

import concurrent.futures
import contextlib
import dataclasses
import functools
import pathlib
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jax
import numpy as np
import rich.console
from jax.sharding import Mesh

from azo.games import othello, plurals, protocol, registry
from azo.learning import generations, iteration, promotion, run_state, sharding, statistics
from azo.networks import checkpoint_folder, network, network_files, origin
from azo.process import (
    code_identity,
    console,
    distributed,
    interruption,
    machine,
    memory,
    program_cache,
)
from azo.search import rules
from azo.settings import setting_types, shipped_files, typed_settings
from azo.storage import files
from azo.training import (
    checkpoint,
    checks,
    config,
    devices,
    first_network,
    metrics,
    run_clock,
    shared_matches,
    shown_games,
)

_BEFORE_ITERATIONS = {"start", "compilation"}  # events of a run that has learned nothing yet
_FEW_ITERATIONS = 5
_SHOWN_SECONDS = 0.5  # of compilation


MakeMatches = Callable[[config.Config, protocol.Game], shared_matches.Matches]
"""Prepares the matches of a run; raises ValueError for an unknown opponent."""


def train(
    settings: config.Config,
    stop: interruption.StopRequest | None = None,
    make_matches: MakeMatches | None = None,
    on_event: metrics.OnEvent = lambda event: None,
) -> run_state.RunState:
    """Runs, or resumes, the run in `settings.run.folder`; returns its last state.

    A request to `stop` ends it after the current iteration. `make_matches`, usually
    `azo.matches.run_matches.RunMatches`, prepares the gate, the evaluations and the ratings;
    without it there are none. ValueError, one line, if the settings do not fit, the folder cannot
    be used, or a number is not finite. All processes of a run call it, see `distributed`; the first
    one prints, writes and plays the matches.
    """
    distributed.refuse_others()
    distributed.check_equal("settings and versions", _of_all_processes(settings))
    stop = stop or interruption.StopRequest()
    mesh = sharding.make_mesh(devices.prepare(settings))
    game = registry.make(settings.game)
    rules.named(settings.search.algorithm)  # an import path is wrong before anything is compiled
    lengths: dict[str, Any] = {"evaluation": settings.evaluation}
    lengths |= {"gate": settings.gate} if settings.gate.is_enabled else {}
    lengths |= {"ratings": settings.ratings} if settings.ratings.num_points else {}
    if make_matches is None and len(lengths) > 1:
        raise ValueError(f"nothing plays the matches of {', '.join(list(lengths)[1:])}")
    checks.check_memory(settings, game, mesh.size, **lengths)
    if not config.used_limits(settings, {}):
        raise ValueError("the run would have no end: give --minutes 10, or another limit")
    start, carried = first_network.load_start(settings, game)
    teacher = network_files.load_setting("selfplay.teacher", settings.selfplay.teacher, game)
    with contextlib.ExitStack() as stack:
        if distributed.is_first():
            stack.push(_removal_of_unused(settings.run.folder))
        keep = settings.run.keep_checkpoints
        checkpoints = stack.enter_context(checkpoint.Checkpoints(settings.run.folder, keep=keep))
        checkpoints.check_resumable(settings)
        display = rich.console.Console(
            highlight=False, emoji=False, quiet=not distributed.is_first()
        )
        screen = stack.enter_context(console.Console(game.name, settings.run.folder, display))
        screen.note("preparing the run; the first start compiles for half a minute or longer")
        if note := devices.check_kernels(settings, game):
            screen.note(note)
        settings = first_network.with_origin(settings, checkpoints)
        matches = None
        if make_matches is not None:
            matches = shared_matches.SharedMatches(functools.partial(make_matches, settings, game))
        state = sharding.begin(
            game,
            settings,
            mesh,
            seed=settings.run.seed,
            start=start,
            teacher=teacher[0] if teacher else None,
        )
        if first := checkpoints.latest_step:
            state = checkpoints.restore(state)
        folder, check_lock = settings.run.folder, checkpoints.check_lock
        writer = None
        if distributed.is_first():
            files.check_own(folder / shown_games.FILE, is_replaced=True)
            writer = stack.enter_context(metrics.MetricsWriter(folder, first, check_lock, on_event))
        distributed.wait_for_all()  # until others may read the metrics
        if carried and not first:
            screen.note(carried)
        actor = teacher[1].network if teacher else settings.network
        return Trainer(settings, game, mesh, actor, matches, checkpoints, writer, screen, stop).run(
            state
        )


def _removal_of_unused(folder: pathlib.Path) -> Callable[..., None]:
    """Returns what removes a new folder again if the run fails before its first iteration."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]

    def remove(kind: object, *_: object) -> None:
        if kind is None or not missing or not folder.is_dir():
            return
        with contextlib.suppress(OSError, ValueError):
            events = {event["event"] for event in metrics.read(folder)}
            if events <= _BEFORE_ITERATIONS and not checkpoint_folder.all_steps(folder):
                shutil.rmtree(folder)
                for path in missing[1:]:
                    path.rmdir()  # not if another process has written there

    return remove


@dataclasses.dataclass
class Trainer:
    """Continues a run from a state to its end, or to a request to stop."""

    settings: config.Config
    game: protocol.Game
    mesh: Mesh
    actor: network.NetworkConfig  # shape of the network that plays
    matches: shared_matches.Matches | None
    checkpoints: checkpoint.Checkpoints
    writer: metrics.MetricsWriter | None  # of the first process
    screen: console.Console
    stop: interruption.StopRequest

    def __post_init__(self) -> None:
        self.clock = run_clock.RunClock(self.settings)
        self.warnings: set[str] = set()
        self.is_logged = False  # the last iteration, in the metrics
        # A run keeps the code that it has begun with, and another run its programs if it is equal.
        networks = (network.build(self.game, one) for one in (self.settings.network, self.actor))
        self.code = code_identity.version(iteration.build, type(self.game), *map(type, networks))

    def run(self, state: run_state.RunState) -> run_state.RunState:
        """Iterates until the run ends or is stopped; returns the last state."""
        iteration = int(state.iteration)
        reason = self.recorded_end(state) or self.end_reason(state, self.recorded_match(iteration))
        self.announce(state, reason)
        # If the process before was stopped in the meantime.
        self.rate(state, iteration, is_last=reason is not None)
        is_stopped = self.should_stop()
        if reason is None and not is_stopped and (kind := self.next_iteration(state)):
            self.write(
                iteration,
                [
                    metrics.Event(
                        "start", machine.fields(self.mesh.size, jax.devices()[0].device_kind)
                    )
                ],
            )
            self.screen.working("compiling the first iteration")
            with self.compiling(), concurrent.futures.ThreadPoolExecutor(1) as beside:
                if self.matches is not None:  # an error comes again in the first rating
                    beside.submit(self.matches.compile_ratings, state)
                self.compile(kind, state)
            is_stopped = self.should_stop()
        if reason is None and is_stopped:
            self.screen.note(f"stopped before iteration {iteration + 1}: nothing to save")
        while reason is None and not is_stopped:
            state, fields = self.iterate(state)
            iteration += 1
            self.warn(iteration, fields)
            state = self.end_generation(state, iteration)
            self.log(state, iteration, fields)
            match = self.evaluate(state, iteration)
            shown = {"iteration": iteration, **fields}
            self.screen.update(shown, float(self.progress(state)), match and match.text)
            reason = self.end_reason(state, match)
            self.rate(state, iteration, is_last=reason is not None)
            is_stopped = self.should_stop()
            self.save(state, fields, match, reason, is_stopped=is_stopped)
            if reason:
                self.note_end(state, reason)
                folder = self.settings.run.folder
                if isinstance(self.game, othello.Othello):
                    self.screen.note(f"azo play --network {folder} plays against it")
                self.screen.note(f"azo report {folder} plots its metrics")
        return state

    def iterate(self, state: run_state.RunState) -> tuple[run_state.RunState, dict[str, Any]]:
        """Runs the compiled iteration once; returns the new state and fields for the metrics."""
        kind = self.next_iteration(state)
        assert kind is not None, "a complete generation has ended"
        with self.compiling():
            settings, program, numbers = self.compile(kind, state)
        progress = self.progress(state)
        with self.clock.iteration():
            state, report = program(state, progress, numbers)
            report = jax.device_get(report)
        seconds = self.clock.iteration_seconds
        fields = {
            **statistics.describe_iteration(settings, state, report, seconds=seconds),
            "time/iteration_seconds": round(seconds, 4),
            **self.clock.fields(),
        }
        self.check_finite(state, report.finite, fields)
        return state, fields

    @contextlib.contextmanager
    def compiling(self) -> Iterator[None]:
        """Counts the time of a block as compilation, which is none if the program is there."""
        start = time.monotonic()
        yield
        seconds = time.monotonic() - start
        if (uncounted := self.clock.add_compilation(seconds)) >= _SHOWN_SECONDS:
            flag = f"--minutes {self.settings.minutes:g}"
            self.screen.note(
                f"compiling took {seconds:.0f} s, of which {flag} does not count {uncounted:.0f} s"
            )

    def check_finite(
        self, state: run_state.RunState, finite: Mapping[str, bool], fields: Mapping[str, Any]
    ) -> None:
        """Raises ValueError, one line, if a number of an iteration is infinite or NaN.

        The state is never saved then. The iteration is recorded in the metrics.
        """
        bad = [name for name, good in finite.items() if not good]
        if not bad:
            return
        folder, iteration = self.settings.run.folder, int(state.iteration)
        self.write(iteration, [metrics.Event("not_finite", {**fields, "not_finite": bad})])
        latest, start = self.checkpoints.latest_step, ""
        if latest:
            start = f" from the network of checkpoint {latest} (--run.start-from {folder})"
        raise ValueError(
            f"{folder}: not finite in iteration {iteration}: {', '.join(bad)} (see {metrics.FILE})."
            f" Stopped: begin another run{start} with a learner.learning_rate below"
            f" {self.settings.learner.learning_rate:g}"
        )

    def warn(self, iteration: int, fields: Mapping[str, Any]) -> None:
        """Shows warnings about the network's predictions, when they begin."""
        messages = console.warnings(fields)
        for name in messages.keys() - self.warnings:
            self.write(iteration, [metrics.Event("warning", {"warning": name}, messages[name])])
        self.warnings = set(messages)

    def compile(
        self, kind: generations.IterationKind, state: run_state.RunState
    ) -> tuple[config.Config, Any, setting_types.Numbers]:
        """Returns settings and program of the next iteration, and the numbers that it takes."""
        share = float(self.progress(state))
        settings = config.scheduled(self.settings, int(state.generation), share)
        fixed, numbers = setting_types.split_numbers(settings)
        recipe = fixed.model_dump_json(include=set(run_state.RecipeConfig.model_fields))
        networks = tuple(network.build(self.game, one) for one in (settings.network, self.actor))
        key = self.code, kind, self.game, self.mesh, networks, recipe
        if key in program_cache.PROGRAMS:
            return settings, program_cache.PROGRAMS[key], numbers
        self.screen.note("compiling, half a minute or longer")
        start = time.monotonic()
        iterate = iteration.build(self.game, fixed, self.mesh, kind=kind, actor=self.actor)
        program = iterate.lower(state, np.float32(0), numbers).compile()
        seconds = time.monotonic() - start
        memory.check_program(program)
        program_cache.add(key, program)
        self.screen.note(f"compiled in {seconds:.0f} s")
        fields = {"time/compilation_seconds": round(seconds, 2)}
        self.write(int(state.iteration), [metrics.Event("compilation", fields)])
        return settings, program, numbers

    def next_iteration(self, state: run_state.RunState) -> generations.IterationKind | None:
        """Returns the kind of the next iteration, or None if the generation is complete."""
        num_steps = int(state.learner.num_steps) - int(state.generation_steps)
        return generations.next_iteration(
            self.settings.generation,
            num_games=int(state.num_games) - int(state.generation_games),
            num_samples=num_steps * self.settings.learner.batch_size,
        )

    def end_generation(self, state: run_state.RunState, iteration: int) -> run_state.RunState:
        """Returns the state of the next generation if this one is complete."""
        if self.next_iteration(state) is not None:
            return state
        gate = self.settings.gate
        begins_window = self.settings.replay.window_generations > 0
        if not gate.is_enabled:
            return promotion.next_generation(state, is_promoted=False, begins_window=begins_window)
        assert self.matches is not None
        self.screen.working("playing the gate's match")
        (match,) = self.write(iteration, self.matches.gate(state, iteration))
        rows, columns = self.game.board_shape  # which each game is taken to fill
        evaluations = gate.num_games * rows * columns * (gate.num_simulations + 1)
        state = state.with_evaluations(evaluations)
        if match.fields["gate/is_promoted"]:
            return promotion.next_generation(state, is_promoted=True, begins_window=begins_window)
        plays_on = (
            gate.after_failure == "play" or state.num_failures + 1 >= generations.MAX_FAILURES
        )
        return promotion.failed(state, restarts_games=bool(plays_on))

    def log(self, state: run_state.RunState, iteration: int, fields: Mapping[str, Any]) -> None:
        """Writes the fields of an iteration, if that is due."""
        is_due = iteration % self.settings.run.log_every == 0
        self.is_logged = is_due or self.end_reason(state) is not None
        if self.is_logged:
            self.write(iteration, [metrics.Event("iteration", fields)])
            if distributed.is_first():
                shown_games.write(self.settings.run.folder, self.game, state.games, iteration)

    def evaluate(self, state: run_state.RunState, iteration: int) -> metrics.Event | None:
        """Plays a match, if that is due, and returns it."""
        match = self.settings.evaluation
        is_due = match.is_due(iteration) or (match.every > 0 and self.end_reason(state))
        if self.matches is None or not is_due or self.should_stop():
            return None
        self.screen.working(
            f"playing {plurals.counted(match.num_games, 'game')} against {match.opponent}"
        )
        (played,) = self.matches.evaluate(state, iteration)
        fields = {**played.fields, **self.clock.fields()}
        self.write(iteration, [metrics.Event(played.kind, fields)])
        return played

    def rate(self, state: run_state.RunState, iteration: int, *, is_last: bool) -> None:
        """Rates the network that plays, if that is due, and at the end of a run."""
        if self.matches is None or not self.settings.ratings.num_points or self.should_stop():
            return
        share = float(self.progress(state))
        num_games = self.clock.games_of_rating(share, is_last=is_last)
        if not num_games:
            return
        self.screen.working("playing the matches of the rating")
        clocks = {"selfplay/evaluations": state.num_evaluations(), **self.clock.fields()}
        rated = self.matches.rate(state, iteration, num_games)
        timed = (event._replace(fields={**event.fields, **clocks}) for event in rated)
        for event in self.write(iteration, timed):
            self.clock.add_rating(event.fields)

    def save(
        self,
        state: run_state.RunState,
        fields: Mapping[str, Any],
        match: metrics.Event | None,
        reason: str | None,
        *,
        is_stopped: bool,
    ) -> None:
        """Saves a checkpoint, if that is due, and notes the end of the run or of the process."""
        iteration = int(state.iteration)
        is_due = match or reason or is_stopped or iteration % self.settings.run.save_every == 0
        if is_due and not self.is_logged:  # a resumed run continues the clocks of the metrics
            self.write(iteration, [metrics.Event("iteration", fields)])
        if reason:
            self.write(iteration, [metrics.Event("end", {"reason": reason})])
        if is_due:
            self.checkpoints.save(iteration, state, self.settings, _score(match))
        if is_stopped and not reason:
            self.screen.note(f"stopped and saved after iteration {iteration}")

    def end_reason(
        self, state: run_state.RunState, match: metrics.Event | None = None
    ) -> str | None:
        """Returns the reason to end the run after an iteration and its match, or None."""
        evaluation = self.settings.evaluation
        for limit in self.used_limits(state):
            if limit.share >= 1:
                return limit.reason
        score, until = _score(match), evaluation.until_score
        if score is not None and until is not None and score >= until:
            return f"score {score:.3f} against {evaluation.opponent}"
        return None

    def recorded_end(self, state: run_state.RunState) -> str | None:
        """Returns why an earlier process ended the run at this state, if that limit still holds.

        A limit in minutes may not be used up: the last rating may take less time than expected.
        """
        reasons = {limit.reason for limit in self.used_limits(state)}
        for event in metrics.read(self.settings.run.folder, "end"):
            if event["iteration"] == int(state.iteration) and event["reason"] in reasons:
                return str(event["reason"])
        return None

    def progress(self, state: run_state.RunState) -> np.float32:
        """Returns the share of the run that is done, by the limit that is closest."""
        return np.float32(min(max(limit.share for limit in self.used_limits(state)), 1.0))

    def used_limits(self, state: run_state.RunState) -> list[config.Limit]:
        """Returns how much of each limit is used, by the clocks of the first process."""
        used = {
            "iteration": int(state.iteration),
            "selfplay/evaluations": state.num_evaluations(),
            "time/processor_seconds": self.clock.processor_seconds,
            # The rating at the end is within the length of a run.
            "time/minutes": self.clock.minutes + self.clock.last_rating_minutes(),
        }
        return config.used_limits(self.settings, distributed.from_first(lambda: used))

    def should_stop(self) -> bool:
        """Returns whether a request to stop is made, in any process."""
        return distributed.any_process(self.stop.is_made)

    def recorded_match(self, iteration: int) -> metrics.Event | None:
        """Returns the match that an earlier process played after an iteration, if any."""
        events = metrics.read(self.settings.run.folder, "evaluation")
        matches = [event for event in events if event["iteration"] == iteration]
        return metrics.Event("evaluation", matches[-1]) if matches else None

    def write(self, iteration: int, new: Iterable[metrics.Event]) -> list[metrics.Event]:
        """Writes events as they occur, and shows their texts; returns them."""
        written = []
        for event in new:
            if self.writer is not None:
                self.writer.write(event.kind, iteration, event.fields)
            if event.text:
                self.screen.note(f"iteration {iteration}: {event.text}")
            written.append(event)
        return written

    def announce(self, state: run_state.RunState, reason: str | None) -> None:
        """Shows the devices, and whether the run begins, resumes or has ended."""
        first = int(state.iteration)
        device = jax.devices()[0]
        where = f"{self.mesh.size} x {device.device_kind}"
        if device.device_kind != device.platform:  # equal on a CPU
            where += f" ({device.platform})"
        if (num_processes := distributed.num_processes()) > 1:
            where += f" of {num_processes} processes"
        if not first:
            self.screen.note(f"training on {where}; Ctrl-C saves, the same command resumes")
            if self.settings.origin:
                self.screen.note(f"origin of its network: {origin.describe(self.settings.origin)}")
        elif reason is None:
            self.screen.note(f"resuming after iteration {first} on {where}")
        else:
            self.note_end(state, reason)

    def note_end(self, state: run_state.RunState, reason: str) -> None:
        """Shows why the run has ended, and how to continue it if its limits are reached."""
        flags = " ".join(
            limit.flag
            for limit in self.used_limits(state)
            if limit.share >= 1 or limit.reason == reason
        )
        more = f"; the same command with {flags} continues it" if flags else ""
        self.screen.note(f"the run has ended: {reason}{more}")
        iterations, seconds = int(state.iteration), self.clock.iteration_seconds
        if "--minutes" in flags and seconds and iterations < _FEW_ITERATIONS:
            self.screen.note(
                f"only {plurals.counted(iterations, 'iteration')}, the last of {seconds:.0f} s:"
                " for shorter iterations, lower selfplay.num_games, selfplay.num_plies or"
                " learner.num_steps"
            )


def _of_all_processes(settings: config.Config) -> dict[str, str]:
    """Returns what all processes of a run must have in common, by names."""
    names = setting_types.fields_of(config.Config).keys() - {
        "run.folder"
    }  # hosts name it as they do
    values = {name: str(typed_settings.value_of(settings, name)) for name in sorted(names)}
    return values | {name: shipped_files.version(name) for name in ("azo", "jax", "jaxlib")}


def _score(match: metrics.Event | None) -> float | None:
    return None if match is None else match.fields.get("evaluation/score")
