"""Training from recorded or generated games; saves the best network so far, and metrics.

`FOLDER/best` is the network with the best result on held-out games, and `FOLDER/metrics.jsonl` has
the numbers of every evaluation.
"""

import functools
import itertools
import math
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from azo.games import plurals, protocol
from azo.learning import learner, replay, statistics, supervised
from azo.networks import initial_variables, network, network_files, origin
from azo.process import interruption
from azo.storage import files
from azo.training import config, metrics, supervised_data

BEST = "best"
_EVALUATION_BATCH = 512
_EVALUATION_PLIES = 20_000  # of the held-out games; the last evaluation takes all


def train(
    settings: supervised_data.SuperviseConfig,
    game: protocol.Game,
    data: replay.Examples,
    held_out: supervised.RecordedPlies,
    stop: interruption.StopRequest,
) -> dict[str, float]:
    """Trains a network; returns the mean results of the best one.

    The evaluations take plies of `held_out`, which place a disc. A request to stop ends the
    training after the current call.
    """
    num_calls, steps, batch = split(settings, len(data.value))
    learner_config = settings.learner.model_copy(update={"num_steps": steps})
    calls_per_epoch = len(data.value) / (steps * batch)
    train_state = _begin(settings, game, learner.make_optimiser(settings.learner, settings.network))
    model = network.build(game, settings.network).clone(is_training=True)

    @functools.partial(jax.jit, donate_argnums=1)
    def take_steps(key: Any, train_state: Any, data: Any, rows: Any, progress: Any) -> Any:
        optimiser = learner.make_optimiser(settings.learner, settings.network, progress)
        train_state, losses = learner.learn(
            game, model, optimiser, key, train_state, functools.partial(replay.take, data),
            rows, config=learner_config, score_share=settings.search.score_share,
        )  # fmt: skip
        return train_state, losses, statistics.check_finite(train_state, losses)

    rng = np.random.default_rng(settings.seed)
    some = held_out.select(rng.permutation(len(held_out))[:_EVALUATION_PLIES])
    rows = (row for _ in itertools.count() for row in rng.permutation(len(data.value)))
    best: tuple[float, network.Variables] | None = None
    seconds, epoch = 0.0, 0.0
    with metrics.MetricsWriter(settings.folder) as writer:
        for call in range(1, num_calls + 1):
            start = time.perf_counter()
            key = jax.random.fold_in(jax.random.key(settings.seed + 1), call)
            progress = (call - 1) / num_calls
            drawn = np.fromiter(itertools.islice(rows, steps * batch), np.int32)
            train_state, losses, finite = take_steps(
                key, train_state, data, jnp.asarray(drawn.reshape(steps, batch)), progress
            )
            if not jax.tree.all(jax.device_get(finite)):
                raise ValueError(
                    f"{settings.folder}: a loss, gradient or weight is not finite after step"
                    f" {call * steps:,}; the best network so far is saved. Lower"
                    f" learner.learning_rate, which is {settings.learner.learning_rate:g}"
                )
            seconds += time.perf_counter() - start
            before, epoch = epoch, call / calls_per_epoch
            is_last = call == num_calls or stop.is_made
            per_epoch = settings.evaluations_per_epoch
            if int(epoch * per_epoch) == int(before * per_epoch) and not is_last:
                continue
            variables = train_state.variables()
            fields = evaluate(game, settings.network, variables, some)
            # Random games teach only the value.
            grade = fields["held_out/accuracy"]
            if settings.source == "random":
                grade = -fields["held_out/value_error"]
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
            writer.write("evaluation", call * steps, learned | fields)
            print(
                f"epoch {epoch:.2f}  step {call * steps:,}  policy loss {losses.policy:.3f}"
                f"  value loss {losses.value:.3f}  held out: {_text(fields)}"
                f"  {seconds:.0f} s, {call * steps * batch / seconds:,.0f} positions/s",
                flush=True,
            )
            if stop.is_made:
                print("stopped", flush=True)
                break
        assert best is not None
        judged = some if stop.is_made else held_out
        result = evaluate(game, settings.network, best[1], judged)
        writer.write("result", call * steps, result)
    print(f"best network: {_text(result)}; in {settings.folder / BEST}", flush=True)
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
    config: network.NetworkConfig,
    variables: network.Variables,
    plies: supervised.RecordedPlies,
) -> dict[str, float]:
    """Returns the means of `supervised.score` on recorded plies, by their names in the metrics."""
    scores = supervised.in_batches(
        lambda batch: supervised.score(game, config, variables, *batch),
        (plies.board, plies.action, plies.value),
        _EVALUATION_BATCH,
    )
    means = {f"held_out/{name}": float(one.mean()) for name, one in scores.items()}
    return {"held_out/plies": len(plies), **means}


def _text(fields: dict[str, float]) -> str:
    plies = plurals.counted(int(fields["held_out/plies"]), "ply", "plies", ",")
    return (
        f"accuracy {fields['held_out/accuracy']:.4f},"
        f" policy loss {fields['held_out/policy_loss']:.3f},"
        f" value error {fields['held_out/value_error']:.3f} ({plies})"
    )


def _begin(
    settings: supervised_data.SuperviseConfig, game: protocol.Game, optimiser: Any
) -> learner.TrainState:
    if settings.start is None:
        variables = initial_variables.init(game, settings.network, jax.random.key(settings.seed))
        return learner.init(optimiser, variables)
    loaded, start = network_files.load(settings.start)
    if start.network != settings.network:
        raise ValueError(f"{settings.start}: its network has other settings: {start.network}")
    return learner.init(optimiser, loaded)


def _save(settings: supervised_data.SuperviseConfig, variables: network.Variables) -> None:
    """Replaces the best network; a crash in between leaves one of the two under some name."""
    new, old, best = (settings.folder / name for name in (".new", ".old", BEST))
    for folder in (new, old):
        files.remove_folder(folder, settings.folder)
    run_settings = config.Config(
        game=settings.game,
        search=settings.search,
        network=settings.network,
        learner=settings.learner,
        run=config.RunConfig(folder=settings.folder, seed=settings.seed),
        origin=_origin(settings),
    )
    network_files.save(new, variables, run_settings, inside=settings.folder)
    if best.exists():
        files.rename(best, old, settings.folder)
    files.rename(new, best, settings.folder)
    files.remove_folder(old, settings.folder)


def _origin(settings: supervised_data.SuperviseConfig) -> origin.Origin:
    """Returns what the network learns from; random games need only the rules."""
    start = network_files.origin_from("network", settings.start)
    if settings.source == "search":
        return start + network_files.origin_from("teacher", settings.player)
    if settings.source == "runs":
        runs = [network_files.origin_from("teacher", run) for run in settings.files]
        return tuple(dict.fromkeys(itertools.chain(start, *runs)))
    if settings.source == "files":
        names = ", ".join(path.name for path in settings.files)
        return (*start, origin.Source(kind="recorded games", name=names))
    return start
