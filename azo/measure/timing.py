"""How long a network takes for a move, and how many positions it looks at, by ply and simulations.

The positions are those of the network's own games: without search, after some random plies. A move
is timed alone, as in play against people, and in a batch, as in matches; what compiles is run
before the clock starts.
"""

import dataclasses
import functools
import time
from collections.abc import Iterator, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from azo.games import protocol
from azo.learning import leaf_evaluator, network
from azo.measure import arena, players
from azo.search import improvement

BATCH = 64
HEADING = (
    "| plies | player | alone: ms a move | positions a move |"
    f" {BATCH} games: ms a move | positions a move |"
)
RULE = "|" + " --- |" * 6

_PLIES = 10  # of a line of the table
_NUM_ALONE = 15  # moves timed one by one for a median
_NUM_BATCHES = 3
_OPENING_PLIES = 4


@dataclasses.dataclass(frozen=True)
class Pace:
    """Medians over moves at some plies; positions are means."""

    first_ply: int
    last_ply: int
    num_simulations: int  # 0: without search
    alone_ms: float  # milliseconds a move, one position at a time
    alone_positions: float  # evaluated by the network and still open, a move
    batch_ms: float  # milliseconds a move and position, `BATCH` positions at a time
    batch_positions: float


def paces(
    game: protocol.Game,
    trained: players.TrainedNetwork,
    key: jax.Array,
    num_simulations: Sequence[int],
) -> Iterator[Pace]:
    """Yields the pace for every ten plies that games have, and every number of simulations.

    Args:
      game: the rules.
      trained: the network, and how it searches.
      key: for the games, the choice among their positions, and the searches.
      num_simulations: simulations a move; 0 for the network without search.
    """
    game_key, move_key = jax.random.split(key)
    board, is_open = own_games(game, trained, game_key)
    rng = np.random.default_rng(np.asarray(jax.random.bits(move_key, (4,))))
    for first in range(0, len(is_open), _PLIES):
        plies, games = np.nonzero(is_open[first : first + _PLIES])
        if not len(plies):
            return
        chosen = rng.choice(len(plies), BATCH, replace=len(plies) < BATCH)
        position = game.unpack(jnp.asarray(board[first + plies[chosen], games[chosen]]))
        last = first + int(plies.max())
        for number in num_simulations:
            yield _pace(game, trained, move_key, position, number, first, last)


def own_games(
    game: protocol.Game, trained: players.TrainedNetwork, key: jax.Array
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the packed positions of `BATCH` games by ply, and where a move was made from them.

    The network plays both sides without search after four random plies (fewer where games are
    short).

    Returns:
      `[T, B, words]` uint32, before each ply, and `[T, B]` bool, false once the game is over.
    """
    player = players.PolicyPlayer(trained.variables, game, trained.network_config)
    opening_plies = min(_OPENING_PLIES, game.max_plies // 4)
    games = arena.play_games(
        game, player, player, key, num_games=BATCH, opening_plies=opening_plies
    )
    actions = np.asarray(games.actions)
    return np.asarray(_replay(game, games.actions)), (actions >= 0) & np.asarray(games.is_played)


def row(player: str, pace: Pace) -> str:
    """Returns a line of the Markdown table under `HEADING` and `RULE`."""
    cells = [
        f"{pace.first_ply} to {pace.last_ply}",
        player,
        f"{pace.alone_ms:.2f}",
        f"{pace.alone_positions:.1f}",
        f"{pace.batch_ms:.3f}",
        f"{pace.batch_positions:.1f}",
    ]
    return f"| {' | '.join(cells)} |"


def _pace(
    game: protocol.Game,
    trained: players.TrainedNetwork,
    key: jax.Array,
    position: protocol.Position,
    num_simulations: int,
    first_ply: int,
    last_ply: int,
) -> Pace:
    config, search = trained.network_config, None
    if num_simulations:
        search = players.with_simulations(trained.search_config, num_simulations)

    def measure(batch: protocol.Position, number: int) -> tuple[float, float]:
        """Returns milliseconds and open positions a move of one row."""
        move_key = jax.random.fold_in(key, number)
        start = time.perf_counter()
        _, reached = jax.block_until_ready(
            _move(game, trained.variables, move_key, batch, config=config, search=search)
        )
        seconds = time.perf_counter() - start
        return 1000 * seconds / len(reached), float(reached.mean())

    def medians(batches: Sequence[protocol.Position]) -> tuple[float, float]:
        measure(batches[0], 0)  # compiles
        found = [measure(batch, number) for number, batch in enumerate(batches, start=1)]
        milliseconds, reached = np.array(found).T
        return float(np.median(milliseconds)), float(reached.mean())

    one_by_one = [
        jax.tree.map(lambda words, r=r: words[r : r + 1], position) for r in range(_NUM_ALONE)
    ]
    alone, together = medians(one_by_one), medians([position] * _NUM_BATCHES)
    return Pace(first_ply, last_ply, num_simulations, *alone, *together)


@functools.partial(jax.jit, static_argnames="game")
def _replay(game: protocol.Game, actions: jax.Array) -> jax.Array:
    """Returns the packed positions before each ply; after the end of a game they mean nothing."""

    def play(position: protocol.Position, action: jax.Array) -> tuple[protocol.Position, jax.Array]:
        return game.step(position, action).position, game.pack(position)

    _, board = jax.lax.scan(play, game.start(actions.shape[1]), actions)
    return board


@functools.partial(jax.jit, static_argnames=("game", "config", "search"))
def _move(
    game: protocol.Game,
    variables: network.Variables,
    key: jax.Array,
    position: protocol.Position,
    *,
    config: network.NetworkConfig,
    search: improvement.SearchConfig | None,
) -> tuple[jax.Array, jax.Array]:
    """Returns the moves `[B]`, and how many open positions the network was asked about, `[B]`."""
    if search is None:
        player = players.PolicyPlayer(variables, game, config)
        action = player(key, position, jnp.int32(0))
        return action, jnp.ones_like(action)
    evaluate = leaf_evaluator.evaluator(game, config, variables, search)
    found = improvement.search(game, evaluate, key, position, config=search, is_greedy=True)
    is_reached = (found.tree.visits > 0) & ~found.tree.is_over
    return found.action, is_reached.sum(axis=1)
