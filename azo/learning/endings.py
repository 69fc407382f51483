"""Exact endings of Othello in training.

A game of self-play may be adjudicated once few squares are empty. Its result is then the exact one,
and the rest of the game becomes a line of best moves whose positions are examples too. Random
endings give further lines, so that learning can begin at the end of the game.

The device solves endings within an iteration. The host solves those of self-play during the next
iteration (`azo.run.host_endings`), and others before the run (`azo.run.deep_endings`).
"""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Literal

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import pydantic

from azo.games import bitboard, othello, protocol, setting_types
from azo.solver.device import batched

# A solution takes about six times as long with two more empty squares.
MAX_EMPTIES, MAX_HOST_EMPTIES, MAX_DEEP_EMPTIES = 14, 18, 26
# Play solves positions with fewer empty squares in a millisecond.
LATE_EMPTIES = 10
_NUM_LANES = 256
# Boards drawn for one made-up ending, of which the one with fewest moves is taken.
_NUM_DRAWN = 4

Empties = Annotated[int, pydantic.Field(ge=1, le=MAX_DEEP_EMPTIES)]


class EndingsConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Exact endings of Othello in training."""

    adjudicate_empties: Annotated[int, pydantic.Field(ge=0, le=MAX_HOST_EMPTIES)] = 0
    """Adjudicate games of self-play at this number of empty squares; 0: play them to the end."""
    solver: Literal["device", "host"] = "device"
    """Solve adjudicated games on the device, up to 14 empty squares, or on the host, up to 18."""
    late_share: Annotated[float, pydantic.Field(ge=0, le=1)] = 1.0
    """Share kept of the solved positions with at most 10 empty squares of adjudicated games."""
    num_positions: Annotated[int, pydantic.Field(ge=0, le=2**20)] = 0
    """Random endings solved in each iteration in place of self-play, over all devices; 0: none."""
    deep_positions: setting_types.NonNegativeInt = 0
    """Random endings solved on the host before the run, as its only examples; 0: none."""
    confidence: Annotated[float, pydantic.Field(ge=0.9, le=1)] = 1.0
    """Confidence of scores at 20 or more empty squares: 1 for exact, or 0.9 to 0.98, faster."""
    min_empties: Empties = 4
    """Fewest empty squares of a random ending."""
    max_empties: Empties = 10
    """Most empty squares of a random ending."""
    made_share: Annotated[float, pydantic.Field(ge=0, le=1)] = 0.0
    """Share of random endings that are made-up boards, reachable or not; 0: from random games."""

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
        if self.adjudicate_empties > MAX_EMPTIES and self.solver == "device":
            raise ValueError(
                f"adjudicate_empties is {self.adjudicate_empties}, but the device solves endings"
                f" with at most {MAX_EMPTIES} empty squares: solver = 'host' may have"
                f" {MAX_HOST_EMPTIES}"
            )
        if self.max_empties > MAX_EMPTIES and not self.deep_positions:
            raise ValueError(
                f"max_empties is {self.max_empties}, but the device solves endings with at most"
                f" {MAX_EMPTIES} empty squares: deep_positions, on the host, may have"
                f" {MAX_DEEP_EMPTIES}"
            )
        return self

    @property
    def waits_for_host(self) -> bool:
        """Whether turns of self-play wait for the host's solver."""
        is_played = not (self.num_positions or self.deep_positions)
        return is_played and self.solver == "host" and self.adjudicate_empties > 0


@flax.struct.dataclass
class LineMoves:
    """Moves of lines from the host's solver, `K` discs long, from endings `[...]`."""

    action: jax.Array  # [K, ...] int16, the discs placed in order; passes are left out
    best: jax.Array  # [K, ..., bytes] uint8, bits of the actions that keep the exact score


@flax.struct.dataclass
class ExactLines:
    """Best play by both sides from `M` endings to the end, `K` discs long.

    Positions where the only move is to pass are left out.
    """

    board: jax.Array  # [K, M, words] uint32, packed
    policy: jax.Array  # [K, M, A] uint8, 255 for each move that keeps the exact score
    score: jax.Array  # [K, M] int8, exact final score for the side to move
    sign: jax.Array  # [K, M] int8, 1 if the side to move is that of the ending, else -1
    is_valid: jax.Array  # [K, M] bool, the game is not over
    end: jax.Array  # [M, words] uint32, final board seen by the side to move of the ending


def is_ending(game: protocol.Game, position: protocol.Position, max_empties: int) -> jax.Array:
    """Returns `[...]` bool, positions with at most this many empty squares."""
    assert isinstance(game, othello.Othello), game.name
    return game.num_empties(position) <= max_empties


def solve(
    game: othello.Othello,
    key: jax.Array,
    position: othello.Position,
    is_requested: jax.Array,
    *,
    max_empties: int,
) -> ExactLines:
    """Plays random best moves from endings to the end of the game, and solves every position.

    Args:
      game: the rules.
      key: for the choice among best moves.
      position: `[M]`, with at most `max_empties` empty squares where requested.
      is_requested: `[M]` bool; elsewhere the line is empty and `end` is the position itself.
      max_empties: length `K` of the lines.
    """

    def choose(
        position: othello.Position, is_open: jax.Array, key: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        solution = batched.solve(
            game, position, is_open, max_empties=max_empties, num_lanes=_NUM_LANES
        )
        is_best = solution.move_score == solution.score[:, None]
        return jnp.where(is_best, jax.random.uniform(key, is_best.shape), -1.0).argmax(-1), is_best

    return _follow(game, position, is_requested, choose, jax.random.split(key, max_empties))


def pack_moves(
    lines: Iterable[tuple[int, Sequence[int], Sequence[Sequence[int]]]],
    *,
    max_empties: int,
    num_endings: int,
    num_actions: int,
) -> LineMoves:
    """Returns the moves of lines on the host, `[K, M]`.

    Args:
      lines: the number of each ending, its moves, and all best actions at each move. Other endings
        have no moves.
      max_empties: length `K` of the lines.
      num_endings: number of endings `M`.
      num_actions: number of actions of the game.
    """
    action: Any = np.zeros((max_empties, num_endings), np.int16)
    best: Any = np.zeros((*action.shape, -(-num_actions // 8)), np.uint8)
    for column, moves, best_actions in lines:
        action[: len(moves), column] = moves
        for row, actions in enumerate(best_actions):
            for one in actions:
                best[row, column, one // 8] |= 128 >> one % 8  # as `numpy.packbits`
    return LineMoves(action=action, best=best)


def replay_lines(
    game: othello.Othello,
    position: othello.Position,
    is_requested: jax.Array,
    moves: LineMoves,
) -> ExactLines:
    """Returns lines whose moves `[K, M]` are given; other arguments as in `solve`."""

    def choose(
        position: othello.Position, is_open: jax.Array, moves: LineMoves
    ) -> tuple[jax.Array, jax.Array]:
        del position, is_open
        is_best = jnp.unpackbits(moves.best, axis=-1, count=game.num_actions)
        return moves.action.astype(jnp.int32), is_best.astype(bool)

    return _follow(game, position, is_requested, choose, moves)


def thinned(game: othello.Othello, key: jax.Array, lines: ExactLines, share: float) -> ExactLines:
    """Returns the lines with a random share of the positions that play leaves to the solver."""
    is_late = game.num_empties(game.unpack(lines.board)) <= LATE_EMPTIES
    is_kept = jax.random.uniform(key, is_late.shape) < share
    return dataclasses.replace(lines, is_valid=lines.is_valid & (is_kept | ~is_late))


# Returns the action `[M]` and all best actions `[M, A]` bool. Arguments: the positions, a mask of
# those in use, and the ply's part of `by_ply` in `_follow`.
_Choose = Callable[[othello.Position, jax.Array, Any], tuple[jax.Array, jax.Array]]


def _follow(
    game: othello.Othello,
    position: othello.Position,
    is_requested: jax.Array,
    choose: _Choose,
    by_ply: Any,
) -> ExactLines:
    """Plays lines to the end of the game, one disc a ply; `by_ply` has arrays `[K, ...]`."""
    Carry = tuple[othello.Position, jax.Array, jax.Array]

    def ply(carry: Carry, inputs: Any) -> tuple[Carry, tuple[jax.Array, ...]]:
        position, sign, is_open = carry
        must_pass = is_open & game.legal_squares(position).is_empty()
        position = protocol.where(must_pass, _turned(position), position)
        sign = jnp.where(must_pass, -sign, sign)
        is_open &= ~game.legal_squares(position).is_empty()
        action, is_best = choose(position, is_open, inputs)
        policy = jnp.where(is_best, 255, 0).astype(jnp.uint8)
        after = protocol.where(is_open, game.play(position, action), position)
        row = (game.pack(position), policy, sign, is_open)
        return (after, jnp.where(is_open, -sign, sign), is_open), row

    begin = position, jnp.ones(is_requested.shape, jnp.int8), is_requested
    (last, last_sign, _), (board, policy, sign, is_valid) = jax.lax.scan(ply, begin, by_ply)
    end = protocol.where(last_sign == 1, last, _turned(last))
    return ExactLines(
        board=board,
        policy=policy,
        score=sign * game.final_score(end).astype(jnp.int8)[None],
        sign=sign,
        is_valid=is_valid,
        end=game.pack(end),
    )


def random_endings(
    game: othello.Othello, key: jax.Array, num_positions: int, config: EndingsConfig
) -> tuple[othello.Position, jax.Array]:
    """Returns endings `[M]` of random games or made-up boards, and their validity, `[M]` bool.

    A random game may end with more empty squares; such an ending is invalid.
    """
    number_key, play_key, made_key, which_key = jax.random.split(key, 4)
    shape = (num_positions,)
    lowest, highest = config.min_empties, config.max_empties
    num_empties = jax.random.randint(number_key, shape, lowest, highest + 1)
    position = from_random_games(game, play_key, num_empties)
    if config.made_share:
        board = _made_up(game, made_key, num_empties)
        is_made = jax.random.uniform(which_key, shape) < config.made_share
        position = protocol.where(is_made, board, position)
    return position, ~game.is_over(position) & (game.num_empties(position) <= num_empties)


def from_random_games(
    game: othello.Othello, key: jax.Array, num_empties: jax.Array
) -> othello.Position:
    """Returns positions `[M]` of random games at `num_empties` `[M]`, or at an earlier end."""

    def ply(position: othello.Position, key: jax.Array) -> tuple[othello.Position, None]:
        stays = (game.num_empties(position) <= num_empties) | game.is_over(position)
        after = game.play(position, game.random_action(key, position))
        return protocol.where(stays, position, after), None

    keys = jax.random.split(key, game.max_plies)
    return jax.lax.scan(ply, game.start(*num_empties.shape), keys)[0]


def _made_up(game: othello.Othello, key: jax.Array, num_empties: jax.Array) -> othello.Position:
    """Returns random boards with few legal moves, each with its own share of the mover's discs.

    The four squares in the middle are never empty, as in a game.
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
