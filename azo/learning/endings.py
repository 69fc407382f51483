"""Endings that are solved and not searched: perfect labels, and an early end to self-play games.

A game that comes down to a few empty squares need not be searched any further. It is adjudicated:
its result, carried back to all its positions, is the exact one, and the rest of the game becomes
a line of best moves by both sides whose positions teach all moves that keep the exact score. ExactLines
also teach by themselves, from random endings: so learning can begin at the end of the game. Those
of deep endings are solved on the host, see `azo.deep_endings`.
"""

from collections.abc import Callable
from typing import Annotated, Any

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import pydantic

from azo.games import bitboard, othello, protocol
from azo.solver.device import batched

# A solution takes about six times as long with two more empty squares.
MAX_EMPTIES, MAX_DEEP_EMPTIES = 14, 26
_NUM_LANES = 256
_NO_LIMIT = 2**31 - 1  # in nodes: whatever is begun is solved
# Boards drawn for one made-up ending; the one with fewest moves is taken.
_NUM_DRAWN = 4

Empties = Annotated[int, pydantic.Field(ge=1, le=MAX_DEEP_EMPTIES)]


class EndingsConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Which endings of Othello are solved in training."""

    adjudicate_empties: Annotated[int, pydantic.Field(ge=0, le=MAX_EMPTIES)] = 0
    """Games of self-play are solved once no more squares are empty; 0: played to the end."""
    num_positions: pydantic.NonNegativeInt = 0
    """Random endings solved in each iteration, over all devices, in place of self-play; 0: none."""
    deep_positions: pydantic.NonNegativeInt = 0
    """Random endings solved on the host before the run, which learns from nothing else; 0: none."""
    confidence: Annotated[float, pydantic.Field(ge=0.9, le=1)] = 1.0
    """Of scores with 20 empty squares or more: 1 for exact, or 0.9 to 0.98, which is faster."""
    min_empties: Empties = 4
    """Fewest empty squares of those endings."""
    max_empties: Empties = 10
    """Most empty squares of those endings."""
    made_share: Annotated[float, pydantic.Field(ge=0, le=1)] = 0.0
    """Share of those endings that are made up, reachable or not; others are from random games."""

    @pydantic.model_validator(mode="after")
    def _check_range(self) -> "EndingsConfig":
        if self.min_empties > self.max_empties:
            raise ValueError(
                f"min_empties is {self.min_empties}, more than max_empties, {self.max_empties}"
            )
        if self.num_positions and self.deep_positions:
            raise ValueError(
                "num_positions and deep_positions are both set: endings are solved either in each"
                " iteration or before the run"
            )
        if self.max_empties > MAX_EMPTIES and not self.deep_positions:
            raise ValueError(
                f"max_empties is {self.max_empties}, but the device solves endings with at most"
                f" {MAX_EMPTIES} empty squares: deep_positions, on the host, may have"
                f" {MAX_DEEP_EMPTIES}"
            )
        return self


@flax.struct.dataclass
class ExactLines:
    """Best play by both sides from `M` endings to the end, `K` discs long.

    Positions where the only move is to pass are left out.
    """

    board: jax.Array  # [K, M, words] uint32, packed
    policy: jax.Array  # [K, M, A] uint8, 255 for each move that keeps the exact score
    value: jax.Array  # [K, M] float32, exact result for the side to move
    sign: jax.Array  # [K, M] int8, 1 if the side to move is that of the ending, else -1
    is_valid: jax.Array  # [K, M] bool, the game goes on here
    end: jax.Array  # [M, words] uint32, final board seen by the side to move of the ending


def is_ending(game: protocol.Game, position: protocol.Position, max_empties: int) -> jax.Array:
    """Returns `[...]` bool, positions with at most this many empty squares."""
    assert isinstance(game, othello.Othello), game.name
    return game.num_empties(position) <= max_empties


def solve(
    game: othello.Othello,
    key: jax.Array,
    position: othello.Position,
    is_wanted: jax.Array,
    *,
    max_empties: int,
) -> ExactLines:
    """Solves endings, and everything on the way to the end.

    Of several best moves a random one is played.

    Args:
      game: the rules.
      key: for the choice among best moves.
      position: `[M]`, those that are wanted with at most `max_empties` empty squares.
      is_wanted: `[M]` bool; from the others nothing is played, and `end` is the position itself.
      max_empties: length `K` of the lines.
    """

    def choose(
        position: othello.Position, is_open: jax.Array, key: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        solution = batched.solve(
            game,
            position,
            is_open,
            max_empties=max_empties,
            num_lanes=_NUM_LANES,
            max_nodes=_NO_LIMIT,
            goal="every_move",
        )
        assert solution.move_score is not None
        is_best = solution.move_score == solution.score[:, None]
        return jnp.where(is_best, jax.random.uniform(key, is_best.shape), -1.0).argmax(-1), is_best

    return _follow(game, position, is_wanted, choose, jax.random.split(key, max_empties))


def replay(
    game: othello.Othello, position: othello.Position, action: jax.Array, is_best: jax.Array
) -> ExactLines:
    """Returns lines that are known already.

    Args:
      game: the rules.
      position: `[M]`.
      action: `[K, M]` int32, what is played wherever a disc can be placed; `K` reaches to the end.
      is_best: `[K, M, A]` bool, all actions that keep the exact score.
    """

    def choose(
        position: othello.Position, is_open: jax.Array, known: tuple[jax.Array, jax.Array]
    ) -> tuple[jax.Array, jax.Array]:
        del position, is_open
        return known

    everywhere = jnp.ones(action.shape[1], bool)
    return _follow(game, position, everywhere, choose, (action, is_best))


# Gives the action `[M]` and all best ones `[M, A]` bool, of positions, where they are wanted, and
# what the ply has from `_follow`'s `by_ply`.
_Choose = Callable[[othello.Position, jax.Array, Any], tuple[jax.Array, jax.Array]]


def _follow(
    game: othello.Othello,
    position: othello.Position,
    is_wanted: jax.Array,
    choose: _Choose,
    by_ply: Any,
) -> ExactLines:
    """Plays lines to the end of the game, a disc a ply; `by_ply` are arrays `[K, ...]`."""
    Carry = tuple[othello.Position, jax.Array, jax.Array]

    def ply(carry: Carry, known: Any) -> tuple[Carry, tuple[jax.Array, ...]]:
        position, sign, is_open = carry
        must_pass = is_open & game.legal_squares(position).is_empty()
        position = _where(must_pass, _turned(position), position)
        sign = jnp.where(must_pass, -sign, sign)
        is_open &= ~game.legal_squares(position).is_empty()
        action, is_best = choose(position, is_open, known)
        policy = jnp.where(is_best, 255, 0).astype(jnp.uint8)
        after = _where(is_open, game.play(position, action), position)
        row = (game.pack(position), policy, sign, is_open)
        return (after, jnp.where(is_open, -sign, sign), is_open), row

    begin = position, jnp.ones(is_wanted.shape, jnp.int8), is_wanted
    (last, last_sign, _), (board, policy, sign, is_valid) = jax.lax.scan(ply, begin, by_ply)
    end = _where(last_sign == 1, last, _turned(last))
    return ExactLines(
        board=board,
        policy=policy,
        value=sign.astype(jnp.float32) * game.result(end)[None],
        sign=sign,
        is_valid=is_valid,
        end=game.pack(end),
    )


def random_endings(
    game: othello.Othello, key: jax.Array, num_positions: int, config: EndingsConfig
) -> tuple[othello.Position, jax.Array]:
    """Returns endings `[M]` of random games or made up, and where one was found, `[M]` bool."""
    number_key, play_key, made_key, which_key = jax.random.split(key, 4)
    shape = (num_positions,)
    lowest, highest = config.min_empties, config.max_empties
    num_empties = jax.random.randint(number_key, shape, lowest, highest + 1)
    found = from_random_games(game, play_key, num_empties)
    if config.made_share:
        made = _made_up(game, made_key, num_empties)
        is_made = jax.random.uniform(which_key, shape) < config.made_share
        found = _where(is_made, made, found)
    # A random game may be over with more squares empty.
    return found, ~game.is_over(found) & (game.num_empties(found) <= num_empties)


def from_random_games(
    game: othello.Othello, key: jax.Array, num_empties: jax.Array
) -> othello.Position:
    """Returns positions `[M]` of random games, stopped at so many empty squares or at their end."""

    def ply(position: othello.Position, key: jax.Array) -> tuple[othello.Position, None]:
        stays = (game.num_empties(position) <= num_empties) | game.is_over(position)
        after = game.play(position, game.random_action(key, position))
        return _where(stays, position, after), None

    keys = jax.random.split(key, game.max_plies)
    return jax.lax.scan(ply, game.start(*num_empties.shape), keys)[0]


def _made_up(game: othello.Othello, key: jax.Array, num_empties: jax.Array) -> othello.Position:
    """Fills boards at random, each with its own share of the mover's discs; few moves are left.

    As in a game the squares in the middle are never empty.
    """
    place_key, share_key, disc_key = jax.random.split(key, 3)
    shape = (*num_empties.shape, _NUM_DRAWN)
    squares = (*shape, game.size**2)
    low, high = game.size // 2 - 1, game.size // 2 + 1
    is_inner = np.zeros(game.board_shape, bool)
    is_inner[low:high, low:high] = True
    inner = jnp.broadcast_to(is_inner.reshape(-1), squares)
    order = jnp.where(inner, 1.0, jax.random.uniform(place_key, squares))
    order = order.argsort(axis=-1).argsort(axis=-1)
    is_disc = order >= num_empties[:, None, None]
    share = jax.random.uniform(share_key, (*shape, 1), minval=0.1, maxval=0.9)
    is_mine = jax.random.uniform(disc_key, squares) < share
    board = is_disc.reshape(*shape, *game.board_shape), is_mine.reshape(*shape, *game.board_shape)
    drawn = othello.Position(
        player=bitboard.from_squares(board[0] & board[1]),
        opponent=bitboard.from_squares(board[0] & ~board[1]),
    )
    num_moves = game.legal_squares(drawn).count() + game.legal_squares(_turned(drawn)).count()
    fewest = jnp.where(game.is_over(drawn), game.num_actions * 2, num_moves).argmin(axis=-1)
    return jax.tree.map(
        lambda word: jnp.take_along_axis(word, fewest[:, None], axis=1)[:, 0], drawn
    )


def _turned(position: othello.Position) -> othello.Position:
    return othello.Position(player=position.opponent, opponent=position.player)


def _where(
    condition: jax.Array, chosen: othello.Position, other: othello.Position
) -> othello.Position:
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), chosen, other)
