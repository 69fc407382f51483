"""Trains a network on recorded games.

    azo supervise games.wtb --folder runs/supervised

FILES are WTHOR files (`.wtb`), eOthello's CSV (`.csv`) or transcripts, one a line (`.txt`), each
also as `.gz`; a folder stands for its WTHOR files. `--source random` and `--source search` make
games instead, as the 6x6 project does to pretrain first its value, then its policy. `--config FILE`
reads settings from a TOML file, and flags override it.

After every evaluation the best network so far is in FOLDER/best, for play and for `--start`, and
the figures are in FOLDER/metrics.jsonl. Ctrl-C ends training after the current steps.
"""

import dataclasses
import functools
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from azo.cli import command_line
from azo.games import protocol, registry
from azo.learning import learner, network, supervised
from azo.run import config, interruption, metrics, network_files, supervised_data, validation

_BEST = "best"
_EVALUATION_BATCH = 512


@dataclasses.dataclass(frozen=True)
class Result:
    """How well a network does on the held-out games."""

    num_plies: int  # all that place a disc
    accuracy: float  # share of them in which its best legal move is the one played
    policy_loss: float  # mean cross-entropy of the move played, nats
    value_error: float  # mean squared difference of its value and the result, both in [-1, 1]


@dataclasses.dataclass(frozen=True)
class Fitted:
    """What training one network came to."""

    num_parameters: int
    num_epochs: float
    seconds: float  # of training, evaluations not counted
    best: Result  # of the best network, on all held-out plies unless stopped early


def main(argv: Sequence[str]) -> int:
    """Trains one network, or those of a sweep; returns the exit code."""
    settings = load(argv)
    game = registry.make(settings.game)
    shapes = {text: _parse_shape(text) for text in settings.sweep}
    if settings.folder.exists():
        raise ValueError(f"{settings.folder}: exists already: choose a new --folder")
    learned, held_out = supervised_data.prepare(settings, game)
    with interruption.StopRequest() as stop:
        if not shapes:
            fit(settings, game, learned, held_out, stop)
            return 0
        fitted = {}
        for text, shape in shapes.items():
            if stop.is_made:
                break
            print(f"network {text}", flush=True)
            changed = {
                "network": settings.network.model_copy(update=shape),
                "folder": settings.folder / text,
            }
            one = settings.model_copy(update=changed)
            fitted[text] = fit(one, game, learned, held_out, stop)
    _print_table(fitted)
    return 0


def load(argv: Sequence[str]) -> supervised_data.SuperviseConfig:
    """Returns the settings of `--config FILE` and flags; raises ValueError with one line."""
    kind = supervised_data.SuperviseConfig
    path, flags = command_line.take_config_flag(argv)
    default = None if path is None else validation.load(kind, path, "settings")
    settings = command_line.parse(
        kind, flags, prog="azo supervise", description=__doc__, default=default
    )
    return supervised_data.check(settings)


def fit(
    settings: supervised_data.SuperviseConfig,
    game: protocol.Game,
    learned: supervised.Dataset,
    held_out: supervised.RecordedPlies,
    stop: interruption.StopRequest,
) -> Fitted:
    """Trains one network, evaluating as it goes, and keeps the best in `settings.folder`."""
    steps, batch = settings.learner.num_steps, settings.learner.batch_size
    calls_an_epoch = learned.num_rows / (steps * batch)
    num_calls = max(1, round(settings.num_epochs * calls_an_epoch))
    playing = network.build(game, settings.network)
    optimiser = learner.make_optimiser(settings.learner, num_calls * steps)
    train_state = _new_learner(settings, game, optimiser)
    take_steps = jax.jit(
        functools.partial(
            supervised.take_steps,
            game,
            playing.clone(is_training=True),
            optimiser,
            config=settings.learner,
        ),
        donate_argnums=1,
    )
    rng = np.random.default_rng(settings.seed)
    some = held_out.select(rng.permutation(len(held_out))[: settings.evaluation_plies])
    rows = _batches(rng, learned.num_rows, (steps, batch))
    best: tuple[float, network.Variables] | None = None
    seconds, epoch = 0.0, 0.0
    with metrics.MetricsWriter(settings.folder) as writer:
        for call in range(1, num_calls + 1):
            start = time.perf_counter()
            key = jax.random.fold_in(jax.random.key(settings.seed + 1), call)
            train_state, losses = take_steps(key, train_state, learned, jnp.asarray(next(rows)))
            jax.block_until_ready(losses)
            seconds += time.perf_counter() - start
            before, epoch = epoch, call / calls_an_epoch
            often = settings.evaluations_per_epoch
            is_last = call == num_calls or stop.is_made
            if int(epoch * often) == int(before * often) and not is_last:
                continue
            variables = {"params": train_state.params, "batch_stats": train_state.batch_stats}
            found = evaluate(game, playing, variables, some)
            goodness = -found.value_error if settings.source == "random" else found.accuracy
            if best is None or goodness > best[0]:
                best = goodness, jax.device_get(variables)
                _save(settings, best[1])
            speed = call * steps * batch / seconds
            _report(writer, call * steps, epoch, losses, found, seconds, speed)
            if stop.is_made:
                print("stopped", flush=True)
                break
        assert best is not None
        result = evaluate(game, playing, best[1], some if stop.is_made else held_out)
        writer.write("result", call * steps, _named(result))
    print(f"best network: {_text(result)}; in {settings.folder / _BEST}", flush=True)
    num_parameters = sum(x.size for x in jax.tree.leaves(best[1]["params"]))
    return Fitted(num_parameters, epoch, seconds, result)


def evaluate(
    game: protocol.Game,
    model: network.Network,
    variables: network.Variables,
    plies: supervised.RecordedPlies,
) -> Result:
    """Returns how well a network does on plies of others, by its running statistics."""
    total = np.zeros(4)
    for first in range(0, len(plies), _EVALUATION_BATCH):
        part = plies.select(np.arange(first, min(first + _EVALUATION_BATCH, len(plies))))
        missing = _EVALUATION_BATCH - len(part)
        found = _score(
            game,
            model,
            variables,
            jnp.asarray(np.pad(part.board, ((0, missing), (0, 0)))),
            jnp.asarray(np.pad(part.action, (0, missing), constant_values=-1)),
            jnp.asarray(np.pad(part.value, (0, missing))),
        )
        total += [
            float(x)
            for x in (found.num_plies, found.num_hits, found.policy_loss, found.value_error)
        ]
    return Result(len(plies), *(total[1:] / total[0]).tolist())


@functools.partial(jax.jit, static_argnums=(0, 1))
def _score(
    game: protocol.Game,
    model: network.Network,
    variables: network.Variables,
    board: jax.Array,
    action: jax.Array,
    value: jax.Array,
) -> supervised.HeldOutScore:
    folded = network.fold(model, variables)
    return supervised.score(game, network.evaluator(game, *folded), board, action, value)


def _new_learner(
    settings: supervised_data.SuperviseConfig, game: protocol.Game, optimiser: Any
) -> learner.TrainState:
    variables = network.init(game, settings.network, jax.random.key(settings.seed))
    if settings.start is not None:
        variables, found = network_files.load(settings.start)
        if found.network != settings.network:
            raise ValueError(f"{settings.start}: its network has other settings: {found.network}")
    params = variables["params"]
    return learner.TrainState(
        params=params,
        batch_stats=variables.get("batch_stats", {}),
        optimiser_state=optimiser.init(params),
        num_steps=jnp.int32(0),
    )


def _batches(
    rng: np.random.Generator, num_rows: int, shape: tuple[int, int]
) -> Iterator[np.ndarray]:
    """Yields rows `[S, M]` int32: one shuffled epoch after the other, without a gap."""
    needed = shape[0] * shape[1]
    waiting = np.zeros(0, np.int32)
    while True:
        while len(waiting) < needed:
            waiting = np.concatenate([waiting, rng.permutation(num_rows).astype(np.int32)])
        yield waiting[:needed].reshape(shape)
        waiting = waiting[needed:]


def _save(settings: supervised_data.SuperviseConfig, variables: network.Variables) -> None:
    """Replaces the best network; a crash in between leaves one of the two under some name."""
    new, old, best = (settings.folder / name for name in (".new", ".old", _BEST))
    for folder in (new, old):
        shutil.rmtree(folder, ignore_errors=True)
    whole = config.Config(
        game=settings.game,
        search=settings.search,
        network=settings.network,
        learner=settings.learner,
        run=config.RunConfig(folder=settings.folder, seed=settings.seed),
    )
    network_files.save(new, variables, whole)
    if best.exists():
        best.rename(old)
    new.rename(best)
    shutil.rmtree(old, ignore_errors=True)


def _report(
    writer: metrics.MetricsWriter,
    num_steps: int,
    epoch: float,
    losses: learner.Losses,
    found: Result,
    seconds: float,
    speed: float,
) -> None:
    learned = {
        "supervised/epoch": round(epoch, 4),
        "supervised/policy_loss": float(losses.policy),
        "supervised/value_loss": float(losses.value),
        "supervised/positions_per_second": round(speed, 1),
        "time/training_seconds": round(seconds, 2),
    }
    writer.write("evaluation", num_steps, learned | _named(found))
    print(
        f"epoch {epoch:.2f}  step {num_steps:,}  policy loss {losses.policy:.3f}"
        f"  value loss {losses.value:.3f}  held out: {_text(found)}"
        f"  {seconds:.0f} s, {speed:,.0f} positions/s",
        flush=True,
    )


def _named(found: Result) -> dict[str, float]:
    return {
        "held_out/plies": found.num_plies,
        "held_out/accuracy": found.accuracy,
        "held_out/policy_loss": found.policy_loss,
        "held_out/value_error": found.value_error,
    }


def _text(found: Result) -> str:
    return (
        f"accuracy {found.accuracy:.4f}, policy loss {found.policy_loss:.3f},"
        f" value error {found.value_error:.3f} ({found.num_plies:,} plies)"
    )


def _print_table(fitted: dict[str, Fitted]) -> None:
    names = ("network", "parameters", "epochs", "seconds", "accuracy", "policy loss", "value error")
    print("  ".join(f"{name:>11}" for name in names))
    for text, one in fitted.items():
        figures = (
            text,
            f"{one.num_parameters:,}",
            f"{one.num_epochs:.2f}",
            f"{one.seconds:.0f}",
            f"{one.best.accuracy:.4f}",
            f"{one.best.policy_loss:.4f}",
            f"{one.best.value_error:.4f}",
        )
        print("  ".join(f"{figure:>11}" for figure in figures))


def _parse_shape(text: str) -> dict[str, int]:
    found = re.fullmatch(r"(\d+)x([1-9]\d*)", text)
    if found is None:
        raise ValueError(f"--sweep: {text!r} is not blocks x channels, such as 5x128")
    return {"num_blocks": int(found[1]), "num_channels": int(found[2])}
