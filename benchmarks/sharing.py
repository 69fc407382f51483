"""How many network evaluations of self-play repeat earlier ones?

    python -m benchmarks.sharing runs/quickstart --max-opening-plies 6

Three savings are measured: positions that several games evaluate in the same simulation; positions
that any game evaluates in any simulation of the same search (the table that OthelloZero's games
share); and the subtree below the played move, if the next search reused it.
"""

import functools
import pathlib
import sys
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import pydantic
import tyro

from azo.games import protocol, registry
from azo.learning import network, ply_records, starts
from azo.run import network_files
from azo.search import improvement
from benchmarks import command, measure


class SharingBenchConfig(command.Settings):
    """How many network evaluations of self-play repeat earlier ones?"""

    folder: Annotated[pathlib.Path, tyro.conf.Positional]
    """Folder of a run or an exported network."""
    algorithm: Literal["gumbel", "puct"] = "gumbel"
    """Algorithm of the search."""
    num_simulations: pydantic.PositiveInt = 32
    """Simulations a move."""
    num_games: pydantic.PositiveInt = 128
    """Games side by side."""
    num_plies: pydantic.PositiveInt = 8
    """Plies that are counted."""
    warmup_plies: pydantic.PositiveInt = 40
    """Plies before them, until all games are played by the network alone."""
    max_opening_plies: pydantic.NonNegativeInt = 0
    """Games begin after 0 to this many random plies."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and returns the exit code."""
    return command.run("benchmarks.sharing", SharingBenchConfig, report, argv)


def report(config: SharingBenchConfig) -> list[str]:
    """Plays, counts, and returns lines of markdown."""
    variables, trained = network_files.load(config.folder)
    game = registry.make(trained.game)
    search = improvement.SearchConfig.model_validate(
        trained.search.model_dump()
        | {"algorithm": config.algorithm, "num_simulations": config.num_simulations}
    )
    evaluate = network.folded_evaluator(game, trained.network, variables)
    play = functools.partial(_play_ply, game, evaluate, search, config.max_opening_plies)
    advance = jax.jit(lambda games, keys: jax.lax.scan(play, games, keys))
    begin_key, warmup_key, key = jax.random.split(jax.random.key(config.seed), 3)
    games = starts.spread_games(game, begin_key, config.num_games)
    # All scans have one length, so one program is compiled.
    for keys in jax.random.split(warmup_key, (config.warmup_plies, 1)):
        games, _ = advance(games, keys)

    total, in_simulation, in_search, behind_move = 0, 0, 0, []
    for keys in jax.random.split(key, (config.num_plies, 1)):
        games, counts = advance(games, keys)
        packed, is_evaluated, kept = (x[0] for x in jax.device_get(counts))
        position = np.ascontiguousarray(packed).view(f"V{4 * game.packed_words}")[..., 0]
        for s in range(config.num_simulations):
            in_simulation += len(np.unique(position[:, s][is_evaluated[:, s]]))
        total += is_evaluated.sum()
        in_search += len(np.unique(position[is_evaluated]))
        behind_move.append(kept[kept >= 0].mean())
    rows = [
        ("among the games of one simulation", f"{1 - in_simulation / total:.1%}"),
        ("among all simulations of one search", f"{1 - in_search / total:.1%}"),
        ("visits below the played move", f"{np.mean(behind_move) / config.num_simulations:.1%}"),
    ]
    return [measure.markdown_table(("repeated", "share of the evaluations"), rows)]


def _play_ply(
    game: protocol.Game,
    evaluate: improvement.Evaluate,
    search: improvement.SearchConfig,
    max_opening_plies: int,
    games: ply_records.GamesInProgress,
    key: jax.Array,
) -> tuple[ply_records.GamesInProgress, Any]:
    """Returns the games after one ply, and the counts.

    The counts are the packed positions of the trees `[B, N - 1]` without the root, whether each was
    evaluated, and `[B]` visits below the played move, -1 where it ended the game.
    """
    output = improvement.search(game, evaluate, key, games.position, config=search, ply=games.ply)
    step = game.step(games.position, output.action)
    tree = output.tree
    is_played = tree.moves.action[:, 0] == output.action[:, None]
    node = jnp.where(is_played, tree.child[:, 0], 0).max(axis=-1).astype(jnp.int32)
    visits = jnp.take_along_axis(tree.visits, node[:, None], axis=1)[:, 0]
    fresh = starts.new_games(game, key, len(games.ply), max_opening_plies=max_opening_plies)
    going_on = ply_records.GamesInProgress(step.position, games.ply + 1, None)
    after = starts.restart(going_on, step.discount == 0, fresh)
    is_evaluated = (tree.visits > 0) & ~tree.is_over
    kept = jnp.where(step.discount == 0, -1, visits - 1)
    return after, (game.pack(tree.position)[:, 1:], is_evaluated[:, 1:], kept)


if __name__ == "__main__":
    sys.exit(main())
