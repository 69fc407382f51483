"""Does a network with search play white perfectly? On 6x6 white wins with perfect play, by 4 discs.

    python -m benchmarks.perfect runs/azo --num-simulations 400

Black plays at random for some plies, a different number in every game, and from then on as well
as white: by the same network. Two things are asked. Of the positions at which black begins to play
well, and which the solver can still tell to be won for white, how many does white win? And how many
of white's moves keep the exact result, and the exact score, once few squares are empty?
"""

import functools
import pathlib
import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import pydantic
import tyro

from azo import checkpoint
from azo.games import bitboard, othello, registry
from azo.measure import players
from azo.solver import host
from benchmarks import command, measure


class PerfectBenchConfig(command.Settings):
    """Does a network with search play white perfectly?"""

    folder: Annotated[pathlib.Path, tyro.conf.Positional]
    """Of a run or an exported network."""
    num_simulations: pydantic.PositiveInt = 400
    """A move."""
    exact_empties: pydantic.NonNegativeInt = 0
    """Positions in the tree with at most so many empty squares are solved."""
    num_games: pydantic.PositiveInt = 200
    """Games side by side."""
    max_random_plies: pydantic.NonNegativeInt = 24
    """Black plays at random in the first 0 to this many plies of a game."""
    max_move_empties: pydantic.PositiveInt = 16
    """White's moves are judged with at most so many empty squares."""
    max_start_empties: pydantic.PositiveInt = 20
    """Positions at which black begins to play well are solved with at most so many."""


def main(argv: Sequence[str] | None = None) -> int:
    return command.run("benchmarks.perfect", PerfectBenchConfig, report, argv)


def report(config: PerfectBenchConfig) -> list[str]:
    """Plays, solves, and returns lines of markdown."""
    variables, trained = checkpoint.load_params(config.folder)
    game = registry.make(trained.game)
    if not isinstance(game, othello.Othello):
        raise ValueError(f"{config.folder}: only Othello can be solved, not {game.name}")
    search = trained.search.model_copy(update={"exact_empties": config.exact_empties})
    network = players.TrainedNetwork(variables, trained.network, search)
    player = players.network_player(game, network, config.num_simulations)
    key = jax.random.key(config.seed)
    num_random = np.arange(config.num_games) * (config.max_random_plies + 1) // config.num_games
    position, is_open, result = jax.device_get(
        _play(game, player, key, jnp.asarray(num_random, jnp.int32))
    )
    num_empties = np.asarray(game.num_empties(position))
    has_choice = np.asarray(game.legal_squares(position).count()) > 1
    score = _scores(game)
    starts, moves = [], []
    for number in range(config.num_games):
        plies = [
            jax.tree.map(lambda words, t=t, b=number: words[t, b], position)
            for t in np.flatnonzero(is_open[:, number])
        ]
        start = num_random[number] + num_random[number] % 2  # black moves at even plies
        if start < len(plies) and num_empties[start, number] <= config.max_start_empties:
            starts.append((-np.sign(score(plies[start])), result[number]))
        for t in range(1, len(plies) - 1, 2):
            if num_empties[t, number] <= config.max_move_empties and has_choice[t, number]:
                moves.append((score(plies[t]), -score(plies[t + 1])))
    outcomes, kept = np.array(starts).reshape(-1, 2), np.array(moves).reshape(-1, 2)
    won = outcomes[outcomes[:, 0] > 0]
    rows = [
        ("games white won, drew, lost", "/".join(str((result == x).sum()) for x in (1, 0, -1))),
        ("positions at which black began to play well that were solved", str(len(outcomes))),
        ("of these won for white, and then won", f"{len(won)}, {(won[:, 1] > 0).sum()}"),
        (f"white's moves with at most {config.max_move_empties} empty squares", str(len(kept))),
        ("that kept the exact result", str((np.sign(kept[:, 0]) == np.sign(kept[:, 1])).sum())),
        ("that kept the exact score", str((kept[:, 0] == kept[:, 1]).sum())),
    ]
    return [measure.markdown_table((f"{config.num_simulations} simulations", "count"), rows)]


@functools.partial(jax.jit, static_argnums=0)
def _play(
    game: othello.Othello, player: players.Player, key: jax.Array, num_random: jax.Array
) -> tuple[othello.Position, jax.Array, jax.Array]:
    """Returns positions `[T, B]`, where the game goes on `[T, B]`, and white's results `[B]`."""

    def ply(
        carry: tuple[othello.Position, jax.Array], number: jax.Array
    ) -> tuple[tuple[othello.Position, jax.Array], tuple[othello.Position, jax.Array]]:
        position, result = carry
        random_key, player_key = jax.random.split(jax.random.fold_in(key, number))
        is_random = (number % 2 == 0) & (number < num_random)
        chosen = player(player_key, position, number)
        action = jnp.where(is_random, game.random_action(random_key, position), chosen)
        is_open = ~game.is_over(position)
        step = game.step(position, action)
        reward = jnp.where(number % 2 == 1, step.reward, -step.reward)
        return (step.position, result + jnp.where(is_open, reward, 0.0)), (position, is_open)

    begin = game.start(*num_random.shape), jnp.zeros(num_random.shape)
    (_, result), (position, is_open) = jax.lax.scan(ply, begin, jnp.arange(game.max_plies))
    return position, is_open, result


def _scores(game: othello.Othello) -> Callable[[othello.Position], int]:
    """Returns what solves a single position: its exact utility for the side to move."""
    solver = host.Solver(game.size, is_reversed=game.is_reversed)
    sign = -1 if game.is_reversed else 1
    solve = functools.cache(lambda *sides: sign * solver.solve(*sides).score)
    return lambda position: solve(*map(bitboard.to_int, (position.player, position.opponent)))


if __name__ == "__main__":
    sys.exit(main())
