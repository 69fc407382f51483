"""Tic-tac-toe: the second implementation of `protocol.Game`, small enough to check by hand.

Bit `3 * row + column` of a word is a square, row by row from the upper left. There is no pass.
"""

import dataclasses
import functools

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from azo.games import board_symmetry, protocol

_FULL = 0b111_111_111
_LINES = (0o700, 0o070, 0o007, 0o444, 0o222, 0o111, 0o421, 0o124)


@flax.struct.dataclass
class TicTacToePosition:
    """A batch of positions, seen by the side to move."""

    player: jax.Array  # [...] uint32, marks of the side to move
    opponent: jax.Array  # [...] uint32, disjoint from `player`


@dataclasses.dataclass(frozen=True)
class TicTacToe(protocol.Game):
    """Tic-tac-toe; `protocol.Game` describes the methods."""

    name: str = "tictactoe"
    board_shape: tuple[int, int] = (3, 3)
    num_actions: int = 9
    max_plies: int = 9

    @functools.cached_property
    def square_symmetries(self) -> np.ndarray:
        """`[8, 9]` int32 permutations, numbered as in `games.board_symmetry`."""
        return board_symmetry.square_permutations(3)

    def start(self, *batch_shape: int) -> TicTacToePosition:
        """Returns empty boards of a batch shape."""
        empty = jnp.zeros(batch_shape, jnp.uint32)
        return TicTacToePosition(player=empty, opponent=empty)

    def legal_mask(self, position: TicTacToePosition) -> jax.Array:
        """Returns `[..., 9]` bool: empty squares, or all squares of a finished game."""
        is_free = ~_squares(position.player | position.opponent)
        return is_free | self.is_over(position)[..., None]

    def is_over(self, position: TicTacToePosition) -> jax.Array:
        """Returns `[...]` bool: the board is full, or a side has a line."""
        is_full = (position.player | position.opponent) == _FULL
        return is_full | _has_line(position.player) | _has_line(position.opponent)

    def play(self, position: TicTacToePosition, action: jax.Array) -> TicTacToePosition:
        """Returns the positions after marks on squares `[...]`, seen by the other side."""
        mark = jnp.uint32(1) << action.astype(jnp.uint32)
        return TicTacToePosition(player=position.opponent, opponent=position.player | mark)

    def result(self, position: TicTacToePosition) -> jax.Array:
        """Returns `[...]` float32, 1, 0 or -1 for the side to move."""
        won = _has_line(position.player).astype(jnp.float32)
        lost = _has_line(position.opponent).astype(jnp.float32)
        return won - lost

    def planes(self, position: TicTacToePosition) -> jax.Array:
        """Returns `[..., 3, 3, 2]` bool: marks of the player, then of the opponent."""
        both = (position.player, position.opponent)
        boards = [_squares(board).reshape(*board.shape, 3, 3) for board in both]
        return jnp.stack(boards, axis=-1)

    def legal_planes(self, position: TicTacToePosition) -> jax.Array:
        """Returns `[..., 3, 3, 2]` bool: the empty squares, twice."""
        empty = ~self.planes(position).any(axis=-1, keepdims=True)
        return jnp.concatenate([empty, empty], axis=-1)


def _squares(marks: jax.Array) -> jax.Array:
    """Returns `[..., 9]` bool of marks `[...]`."""
    shift = jnp.broadcast_to(jnp.arange(9, dtype=jnp.uint32), (*marks.shape, 9))
    return ((marks[..., None] >> shift) & jnp.uint32(1)).astype(bool)


def _has_line(marks: jax.Array) -> jax.Array:
    """Returns `[...]` bool, whether marks `[...]` fill a row, a column or a diagonal."""
    lines = jnp.broadcast_to(jnp.array(_LINES, jnp.uint32), (*marks.shape, len(_LINES)))
    return ((marks[..., None] & lines) == lines).any(axis=-1)
