"""Training from recorded or made games: the best network so far is kept, metrics are written.

`FOLDER/best` is the network with the best result on held-out games, and `FOLDER/metrics.jsonl` has
the figures of every evaluation.
"""

import dataclasses
import functools
import itertools
import math
import shutil
import time
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from azo.games import protocol
from azo.learning import learner, network, statistics, supervised
from azo.run import config, interruption, metrics, network_files, origin, supervised_data

BEST = "best"
_EVALUATION_BATCH = 512


def train(
    settings: supervised_data.SuperviseConfig,
    game: protocol.Game,
    data: supervised.Dataset,
    held_out: supervised.RecordedPlies,
    stop: interruption.StopRequest,
) -> supervised.HeldOutScore:
    """Trains a network; returns the mean results of the best one.

    The evaluations take plies of `held_out`, which place a disc. A request to stop ends the
    training after the current call.
    """
    num_calls, steps, batch = split(settings, data.num_rows)
    learner_config = settings.learner.model_copy(update={"num_steps": steps})
    calls_per_epoch = data.num_rows / (steps * batch)
    model = network.build(game, settings.network)
    train_state = _begin(settings, game, learner.make_optimiser(settings.learner, settings.network))
    train_model = model.clone(is_training=True)

    @functools.partial(jax.jit, donate_argnums=1)
    def take_steps(key, train_state, data, rows, progress):
        optimiser = learner.make_optimiser(settings.learner, settings.network, progress)
        train_state, losses = learner.learn(
            game, train_model, optimiser, key, train_state, data.examples, rows,
            config=learner_config, score_share=settings.search.score_share,
        )  # fmt: skip
        return train_state, losses, statistics.check_finite(train_state, losses)

    rng = np.random.default_rng(settings.seed)
    some = held_out.select(rng.permutation(len(held_out))[: settings.evaluation_plies])
    rows = _batches(rng, data.num_rows, (steps, batch))
    best: tuple[float, network.Variables] | None = None
    seconds, epoch = 0.0, 0.0
    with metrics.MetricsWriter(settings.folder) as writer:
        for call in range(1, num_calls + 1):
            start = time.perf_counter()
            key = jax.random.fold_in(jax.random.key(settings.seed + 1), call)
            progress = (call - 1) / num_calls
            train_state, losses, finite = take_steps(
                key, train_state, data, jnp.asarray(next(rows)), progress
            )
            if not jax.tree.all(jax.device_get(finite)):
                raise ValueError(
                    f"{settings.folder}: a loss, gradient or weight is not finite after step"
                    f" {call * steps:,}; the best network so far is kept. Lower"
                    f" learner.learning_rate, which is {settings.learner.learning_rate:g}"
                )
            seconds += time.perf_counter() - start
            before, epoch = epoch, call / calls_per_epoch
            is_last = call == num_calls or stop.is_made
            per_epoch = settings.evaluations_per_epoch
            if int(epoch * per_epoch) == int(before * per_epoch) and not is_last:
                continue
            variables = train_state.average or train_state.variables()
            figures = evaluate(game, model, variables, some)
            # Random games teach only the value.
            grade = -figures.value_error if settings.source == "random" else figures.accuracy
            if best is None or grade > best[0]:
                best = grade, jax.device_get(variables)
                _save(settings, best[1])
            learned = {
                "supervised/epoch": round(epoch, 4),
                "supervised/policy_loss": float(losses.policy),
                "supervised/value_loss": float(losses.value),
                "supervised/score_loss": float(losses.score),
                "supervised/positions_per_second": round(call * steps * batch / seconds, 1),
                "time/training_seconds": round(seconds, 2),
            }
            writer.write("evaluation", call * steps, learned | _named(figures, some))
            print(
                f"epoch {epoch:.2f}  step {call * steps:,}  policy loss {losses.policy:.3f}"
                f"  value loss {losses.value:.3f}  held out: {_text(figures, some)}"
                f"  {seconds:.0f} s, {call * steps * batch / seconds:,.0f} positions/s",
                flush=True,
            )
            if stop.is_made:
                print("stopped", flush=True)
                break
        assert best is not None
        judged = some if stop.is_made else held_out
        result = evaluate(game, model, best[1], judged)
        writer.write("result", call * steps, _named(result, judged))
    print(f"best network: {_text(result, judged)}; in {settings.folder / BEST}", flush=True)
    return result


def split(settings: supervised_data.SuperviseConfig, num_rows: int) -> tuple[int, int, int]:
    """Returns the calls, the steps of each, and the batch size that make the epochs asked for.

    A call has at most `learner.num_steps` steps, and no more than there are between evaluations. A
    batch has at most all `num_rows` rows.
    """
    batch = min(settings.learner.batch_size, num_rows)
    num_steps = max(1, round(settings.num_epochs * num_rows / batch))
    between = max(1, round(num_rows / batch / settings.evaluations_per_epoch))
    num_calls = math.ceil(num_steps / min(settings.learner.num_steps, between))
    return num_calls, round(num_steps / num_calls), batch


def evaluate(
    game: protocol.Game,
    model: network.Network,
    variables: network.Variables,
    plies: supervised.RecordedPlies,
) -> supervised.HeldOutScore:
    """Returns the mean results of a network on recorded plies, with its running statistics."""
    scores = []
    for first in range(0, len(plies), _EVALUATION_BATCH):
        rows = np.arange(first, first + _EVALUATION_BATCH).clip(max=len(plies) - 1)
        chunk = plies.select(rows)  # the last ply fills up the last batch
        scores.append(_score(game, model, variables, chunk.board, chunk.action, chunk.value))
    return jax.tree.map(
        lambda *batches: float(np.concatenate(batches)[: len(plies)].mean(dtype=np.float64)),
        *scores,
    )


def _named(score: supervised.HeldOutScore, plies: supervised.RecordedPlies) -> dict[str, float]:
    """Returns results by their names in the metrics."""
    named = {f"held_out/{name}": value for name, value in dataclasses.asdict(score).items()}
    return {"held_out/plies": len(plies), **named}


def _text(score: supervised.HeldOutScore, plies: supervised.RecordedPlies) -> str:
    return (
        f"accuracy {score.accuracy:.4f}, policy loss {score.policy_loss:.3f},"
        f" value error {score.value_error:.3f} ({len(plies):,} plies)"
    )


@functools.partial(jax.jit, static_argnums=(0, 1))
def _score(
    game: protocol.Game,
    model: network.Network,
    variables: network.Variables,
    *columns: jax.Array,
) -> supervised.HeldOutScore:
    evaluate = network.folded_evaluator(game, model.config, variables)
    return supervised.score(game, evaluate, *columns)


def _begin(
    settings: supervised_data.SuperviseConfig, game: protocol.Game, optimiser: Any
) -> learner.TrainState:
    if settings.start is None:
        variables = network.init(game, settings.network, jax.random.key(settings.seed))
        return learner.init(optimiser, variables, settings.learner)
    loaded, start = network_files.load(settings.start)
    begun = network.with_stages(loaded, start.network, settings.network)
    if begun is None:
        raise ValueError(f"{settings.start}: its network has other settings: {start.network}")
    return learner.init(optimiser, begun, settings.learner)


def _batches(
    rng: np.random.Generator, num_rows: int, shape: tuple[int, int]
) -> Iterator[np.ndarray]:
    """Yields rows `[S, M]` int32 from shuffled epochs that follow one another without a gap."""
    size = shape[0] * shape[1]
    waiting = np.zeros(0, np.int32)
    while True:
        while len(waiting) < size:
            waiting = np.concatenate([waiting, rng.permutation(num_rows).astype(np.int32)])
        yield waiting[:size].reshape(shape)
        waiting = waiting[size:]


def _save(settings: supervised_data.SuperviseConfig, variables: network.Variables) -> None:
    """Replaces the best network; a crash in between leaves one of the two under some name."""
    new, old, best = (settings.folder / name for name in (".new", ".old", BEST))
    for folder in (new, old):
        shutil.rmtree(folder, ignore_errors=True)
    run_settings = config.Config(
        game=settings.game,
        search=settings.search,
        network=settings.network,
        learner=settings.learner,
        run=config.RunConfig(folder=settings.folder, seed=settings.seed),
        origin=_origin(settings),
    )
    network_files.save(new, variables, run_settings)
    if best.exists():
        best.rename(old)
    new.rename(best)
    shutil.rmtree(old, ignore_errors=True)


def _origin(settings: supervised_data.SuperviseConfig) -> origin.Origin:
    """Returns what the network learns from; random games need the rules alone."""
    start = network_files.origin_from("network", settings.start)
    if settings.source == "search":
        return start + network_files.origin_from("teacher", settings.player)
    if settings.source == "runs":
        runs = [network_files.origin_from("teacher", run) for run in settings.files]
        return tuple(dict.fromkeys(itertools.chain(start, *runs)))
    if settings.source == "files":
        return start + origin.of_files(settings.files or [supervised_data.DEFAULT_ARCHIVE])
    return start
