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
    max_opening_plies: pydantic.NonNegativeInt = 0
    """Games begin after 0 to this many random plies, drawn evenly: a wider choice of openings."""


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
        step = game.step(games.position, action)
        after = restarted(game, key, step, games.ply, max_opening_plies=0)
        return _where(ply < target, after, games)

    return jax.lax.fori_loop(0, rows * columns, advance, start)


def restarted(
    game: protocol.Game,
    key: jax.Array,
    step: protocol.Step,
    ply: jax.Array,
    *,
    max_opening_plies: int,
) -> Games:
    """Returns the games after a step, new ones where it was the last.

    A new game's random opening counts as played plies, and a game that it would end begins at the
    start instead.
    """
    fresh = Games(position=game.start(*ply.shape), ply=jnp.zeros_like(ply))
    num_plies = jax.random.randint(key, ply.shape, 0, max_opening_plies + 1)

    def advance(index: jax.Array, games: Games) -> Games:
        action = game.random_action(jax.random.fold_in(key, index), games.position)
        after = Games(game.step(games.position, action).position, games.ply + 1)
        return _where(index < num_plies, after, games)

    opened = jax.lax.fori_loop(0, max_opening_plies, advance, fresh)
    opened = _where(game.is_over(opened.position), fresh, opened)
    return _where(step.discount == 0, opened, Games(position=step.position, ply=ply + 1))


def play(
    game: protocol.Game,
    evaluate: policies.Evaluate,
    key: jax.Array,
    games: Games,
    *,
    search: policies.SearchConfig,
    config: SelfplayConfig,
) -> tuple[Games, Plies]:
    """Plays `config.num_plies` plies `T` of every game.

    Args:
      game: the rules.
      evaluate: the network, or what stands in for it.
      key: for the search of every ply.
      games: the games so far.
      search: how moves are searched.
      config: how many plies, and how games begin.

    Returns:
      The games as they stand, and the plies `[T, B]`; games may follow one another in a column.
    """

    def play_ply(games: Games, key: jax.Array) -> tuple[Games, Plies]:
        search_key, opening_key = jax.random.split(key)
        found = policies.search(
            game, evaluate, search_key, games.position, config=search, ply=games.ply
        )
        step = game.step(games.position, found.action)
        record = Plies(
            board=game.pack(games.position),
            policy=quantise(found.policy),
            ply=games.ply,
            reward=step.reward,
            discount=step.discount,
        )
        after = restarted(
            game, opening_key, step, games.ply, max_opening_plies=config.max_opening_plies
        )
        return after, record

    return jax.lax.scan(play_ply, games, jax.random.split(key, config.num_plies))


def _where(condition: jax.Array, yes: Games, no: Games) -> Games:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)
