"""How long do evaluation, self-play and learning take, by kind of network?

    python -m benchmarks.networks --networks 3x32 patterns:16

All networks are timed in turns, on 8x8. Self-play is as in training, with 16 Gumbel simulations,
with and without proofs. Tables of pattern networks hold random numbers, and positions are those of
random games at all plies, so rows lie scattered in memory as in a run.
"""

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import jax
import jax.numpy as jnp
import pydantic

from azo.games import othello
from azo.learning import initial_games, learner, replay, selfplay, trajectories
from azo.networks import initial_variables, network, network_config
from azo.search import improvement
from benchmarks import inputs, measure

_LEARNER = learner.LearnerConfig(
    schedule="constant", warmup_steps=0, num_steps=16, score_weight=0.25, augment=True
)
_PLIES = 16  # of self-play in a call, which folds the network once
_MILLION = 1e6
# Blocks and channels of a tower, or features of a pattern network.
Name = Annotated[str, pydantic.Field(pattern=r"^(\d+x\d+|patterns:\d+)$")]


class NetworksBenchConfig(measure.Settings):
    """How long do evaluation, self-play and learning take, by kind of network?"""

    networks: tuple[Name, ...] = (
        "3x32",
        "patterns:1",
        "patterns:16",
        "patterns:32",
    )
    """Blocks and channels of a tower, or features of a pattern network; 1 feature is linear."""
    batch: pydantic.PositiveInt = 256
    """Games side by side."""
    simulations: pydantic.PositiveInt = 16
    """Simulations per move."""
    repeats: pydantic.PositiveInt = 5
    """Repetitions; each times every program once."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and returns the exit code."""
    return measure.run("benchmarks.networks", NetworksBenchConfig, report, argv)


def report(config: NetworksBenchConfig) -> list[str]:
    """Runs the benchmark and returns its lines of markdown."""
    programs, counts = {}, {}
    for name in config.networks:
        for part, (program, count) in _programs(config, name).items():
            programs[f"{name} {part}"], counts[f"{name} {part}"] = program, count
    timings = measure.take_turns(
        {name: program.call for name, program in programs.items()}, config.repeats
    )

    def per_item(name: str, part: str) -> str:
        timing, count = timings[f"{name} {part}"], counts[f"{name} {part}"]
        seconds = measure.summary([_MILLION * one / count for one in timing.seconds])
        return f"{seconds}{' NOISY' if timing.is_noisy else ''}"

    parts = ("evaluation", "self-play", "self-play without proofs", "learning")
    rows = [[name, *(per_item(name, part) for part in parts)] for name in config.networks]
    columns = (
        "network",
        "us per evaluation",
        "us per simulation of self-play",
        "the same without proofs",
        "s of learning per million examples",
    )
    return [
        f"8x8, {config.batch} games, {config.simulations} simulations per move,"
        f" {_LEARNER.batch_size} examples per step, {config.repeats} repetitions: median (smallest"
        " to largest).",
        "",
        measure.markdown_table(columns, rows),
        "",
    ]


def network_settings(name: Name) -> network.NetworkConfig:
    """Returns the settings of the network of this name."""
    kind, _, features = name.partition(":")
    if not features:
        return inputs.config(kind)
    patterns = network_config.PatternsConfig(num_features=int(features), has_move_counts=False)
    return network.NetworkConfig(kind="patterns", patterns=patterns)


def _programs(config: NetworksBenchConfig, name: str) -> dict[str, tuple[measure.Program, float]]:
    """Returns compiled programs by part, each with the number of items that it processes."""
    game, settings = othello.Othello(8), network_settings(name)
    network_key, games_key, key = jax.random.split(jax.random.key(config.seed), 3)
    model, variables = (
        network.build(game, settings),
        initial_variables.init(game, settings, network_key),
    )
    leaves, tree = jax.tree.flatten(variables["params"])
    leaves = [x + jax.random.normal(network_key, x.shape, x.dtype) / 100 for x in leaves]
    variables = variables | {"params": jax.tree.unflatten(tree, leaves)}
    begin = functools.partial(
        jax.jit(initial_games.spread_games, static_argnums=(0, 2)), game, games_key
    )
    games = inputs.spread(begin, 64, config.batch, None)
    folded, folded_variables = network.fold(model, variables)
    times = inputs.num_repeats(config.batch)

    def evaluate(variables, key, position):
        see = network.evaluator(game, folded, variables)
        return inputs.evaluate_repeatedly(see, key, position, times)

    def play(has_proofs: bool) -> Callable:
        search = improvement.SearchConfig(num_simulations=config.simulations, has_proofs=has_proofs)
        plies = selfplay.SelfplayConfig(num_games=config.batch, num_plies=_PLIES)

        def played(variables, key, games):
            see = network.folded_evaluator(game, settings, variables)
            return selfplay.play(game, see, key, games, search=search, config=plies)

        return played

    optimiser = learner.make_optimiser(_LEARNER, settings)
    board = jnp.resize(game.pack(games.position), (_LEARNER.batch_size, game.packed_words))
    legal = game.legal_mask(game.unpack(board))
    examples = replay.Examples(
        board=board,
        policy=legal / legal.sum(axis=-1, keepdims=True),
        value=jnp.zeros(len(board)),
        score=jnp.full(len(board), trajectories.UNKNOWN_SCORE),
    )

    def learn(train_state, key):
        training = model.clone(is_training=True)
        return learner.learn(
            game, training, optimiser, key, train_state, lambda _: examples, config=_LEARNER
        )

    first = learner.init(optimiser, variables)
    compiled = measure.compile_program
    simulated = _PLIES * config.batch * config.simulations
    return {
        "evaluation": (
            compiled(evaluate, folded_variables, key, games.position),
            config.batch * times,
        ),
        "self-play": (compiled(play(True), variables, key, games), simulated),
        "self-play without proofs": (compiled(play(False), variables, key, games), simulated),
        "learning": (
            compiled(learn, first, key),
            _LEARNER.num_steps * _LEARNER.batch_size,
        ),
    }


if __name__ == "__main__":
    sys.exit(main())
