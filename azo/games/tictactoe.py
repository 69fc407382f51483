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
class TicTacToe:
    """Tic-tac-toe; `protocol.Game` describes the methods."""

    name: str = "tictactoe"
    board_shape: tuple[int, int] = (3, 3)
    num_actions: int = 9
    max_legal: int = 9
    max_plies: int = 9
    packed_words: int = 2

    @functools.cached_property
    def scores(self) -> np.ndarray:
        """`[3]` int32, the final scores: lost, drawn, won."""
        return np.array([-1, 0, 1], np.int32)

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

    def legal_actions(self, position: TicTacToePosition, num_slots: int) -> jax.Array:
        """Returns `[..., num_slots]` int32, the first legal actions in ascending order, then -1."""
        return protocol.actions_from_mask(self.legal_mask(position), num_slots)

    def is_over(self, position: TicTacToePosition) -> jax.Array:
        """Returns `[...]` bool: the board is full, or a side has a line."""
        is_full = (position.player | position.opponent) == _FULL
        return is_full | _has_line(position.player) | _has_line(position.opponent)

    def step(self, position: TicTacToePosition, action: jax.Array) -> protocol.Step:
        """Plays the legal actions `[...]` int32; a finished game does not change."""
        was_over = self.is_over(position)
        mark = jnp.uint32(1) << action.astype(jnp.uint32)
        after = TicTacToePosition(player=position.opponent, opponent=position.player | mark)
        is_last = ~was_over & self.is_over(after)
        return protocol.Step(
            position=protocol.where(was_over, position, after),
            reward=jnp.where(is_last, -self.result(after), 0.0),
            discount=jnp.where(was_over | is_last, 0.0, -1.0),
        )

    def final_score(self, position: TicTacToePosition) -> jax.Array:
        """Returns `[...]` int32, 1, 0 or -1 for the side to move if the game ended here."""
        return self.result(position).astype(jnp.int32)

    def result(self, position: TicTacToePosition) -> jax.Array:
        """Returns `[...]` float32, 1, 0 or -1 for the side to move if the game ended here."""
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

    def random_action(self, key: jax.Array, position: TicTacToePosition) -> jax.Array:
        """Returns `[...]` int32, uniform over the legal actions."""
        legal = self.legal_mask(position)
        draw = jax.random.uniform(key, legal.shape)
        return jnp.argmax(jnp.where(legal, draw, -1.0), axis=-1)

    def greedy_action(self, key: jax.Array, position: TicTacToePosition) -> jax.Array:
        """Returns `[...]` int32, a winning move if there is one, else a random move."""
        actions = jnp.arange(self.num_actions)
        board = jax.tree.map(lambda x: x[..., None], position)
        wins = self.step(board, jnp.broadcast_to(actions, (*position.player.shape, 9))).reward > 0
        draw = jax.random.uniform(key, wins.shape)
        return jnp.argmax(jnp.where(self.legal_mask(position), draw + wins, -1.0), axis=-1)

    def pack(self, position: TicTacToePosition) -> jax.Array:
        """Returns positions as `[..., 2]` uint32."""
        return jnp.stack([position.player, position.opponent], axis=-1)

    def unpack(self, packed: jax.Array) -> TicTacToePosition:
        """Returns the positions that `packed` `[..., 2]` uint32 stores."""
        return TicTacToePosition(player=packed[..., 0], opponent=packed[..., 1])


def _squares(marks: jax.Array) -> jax.Array:
    """Returns `[..., 9]` bool of marks `[...]`."""
    shift = jnp.broadcast_to(jnp.arange(9, dtype=jnp.uint32), (*marks.shape, 9))
    return ((marks[..., None] >> shift) & jnp.uint32(1)).astype(bool)


def _has_line(marks: jax.Array) -> jax.Array:
    """Returns `[...]` bool, whether marks `[...]` fill a row, a column or a diagonal."""
    lines = jnp.broadcast_to(jnp.array(_LINES, jnp.uint32), (*marks.shape, len(_LINES)))
    return ((marks[..., None] & lines) == lines).any(axis=-1)
