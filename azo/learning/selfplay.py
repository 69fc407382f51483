"""Self-play: `B` games side by side, each searched, moved and restarted as it ends.

Everything stays on the device. A ply is recorded as packed words and a policy of one byte per
action; whoever needs more works it out from the position again.
"""

import flax.struct
import jax
import jax.numpy as jnp
import pydantic

from azo.games import protocol
from azo.search import policy as policies


class SelfplayConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """How much is played in an iteration."""

    num_games: pydantic.PositiveInt = 128
    """Games side by side, over all devices."""
    num_plies: pydantic.PositiveInt = 16
    """Plies of each game in an iteration."""


@flax.struct.dataclass
class Games:
    """Games under way."""

    position: protocol.Position  # [B], never over
    ply: jax.Array  # [B] int32, plies played so far


@flax.struct.dataclass
class Plies:
    """Recorded plies, time first."""

    board: jax.Array  # [T, B, words] uint32, the position before the move, packed
    policy: jax.Array  # [T, B, A] uint8, the search's policy, see `quantise`
    ply: jax.Array  # [T, B] int32, plies played before, even for the first player
    reward: jax.Array  # [T, B] float32, result for the player who moved; 0 until a game ends
    discount: jax.Array  # [T, B] float32, -1 while a game goes on, 0 on its last ply


def quantise(policy: jax.Array) -> jax.Array:
    """Returns policies `[..., A]` float32 as uint8, the largest entry as 255.

    What is below 1 / 510 of the largest entry is lost.
    """
    largest = policy.max(axis=-1, keepdims=True)
    return jnp.round(policy / largest * 255).astype(jnp.uint8)


def restore(quantised: jax.Array) -> jax.Array:
    """Returns the policies `[..., A]` float32, summing to 1, that `quantise` was given."""
    weights = quantised.astype(jnp.float32)
    return weights / weights.sum(axis=-1, keepdims=True)


def begin(game: protocol.Game, key: jax.Array, num_games: int) -> Games:
    """Returns games at plies spread evenly over a game's length, after random moves.

    Games that all begin at once would also all end at once, and the replay would then hold one
    stage of the game at a time.
    """
    start = Games(position=game.start(num_games), ply=jnp.zeros(num_games, jnp.int32))
    rows, columns = game.board_shape
    target = jnp.arange(num_games) % (rows * columns)

    def advance(ply: jax.Array, games: Games) -> Games:
        action = game.random_action(jax.random.fold_in(key, ply), games.position)
        after = _restarted(game, game.step(games.position, action), games.ply)
        return _where(ply < target, after, games)

    return jax.lax.fori_loop(0, rows * columns, advance, start)


def play(
    game: protocol.Game,
    evaluate: policies.Evaluate,
    key: jax.Array,
    games: Games,
    *,
    search: policies.SearchConfig,
    num_plies: int,
) -> tuple[Games, Plies]:
    """Plays `num_plies` plies of every game.

    Args:
      game: the rules.
      evaluate: the network, or what stands in for it.
      key: for the search of every ply.
      games: the games so far.
      search: how moves are searched.
      num_plies: `T`.

    Returns:
      The games as they stand, and the plies `[T, B]`; games may follow one another in a column.
    """

    def play_ply(games: Games, key: jax.Array) -> tuple[Games, Plies]:
        found = policies.search(game, evaluate, key, games.position, config=search, ply=games.ply)
        step = game.step(games.position, found.action)
        record = Plies(
            board=game.pack(games.position),
            policy=quantise(found.policy),
            ply=games.ply,
            reward=step.reward,
            discount=step.discount,
        )
        return _restarted(game, step, games.ply), record

    return jax.lax.scan(play_ply, games, jax.random.split(key, num_plies))


def _restarted(game: protocol.Game, step: protocol.Step, ply: jax.Array) -> Games:
    after = Games(position=step.position, ply=ply + 1)
    fresh = Games(position=game.start(*ply.shape), ply=jnp.zeros_like(ply))
    return _where(step.discount == 0, fresh, after)


def _where(condition: jax.Array, yes: Games, no: Games) -> Games:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)
