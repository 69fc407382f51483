"""Othello rules on batches of positions, for boards from 4x4 to 8x8, normal and reversed.

A position is seen by the side to move: `player` are its discs, `opponent` the other side's.
Colour appears only in `notation` and the front ends. Squares run row by row from a1; action
`n * n` is the pass, legal exactly when no square is. A game is over when neither side can place a
disc; nobody passes then. Everything else about a position follows from its discs, so 16 bytes are
all there is.
"""

import dataclasses
import functools

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from azo.games import bitboard, protocol, symmetry


@flax.struct.dataclass
class Position:
    """A batch of positions, seen by the side to move."""

    player: bitboard.Bitboard  # discs of the side to move
    opponent: bitboard.Bitboard  # discs of the other side, disjoint from `player`


@dataclasses.dataclass(frozen=True)
class Othello:
    """Othello on a `size` x `size` board; see `protocol.Game`."""

    size: int = 8
    is_reversed: bool = False  # the side with fewer discs wins
    start_bits: tuple[int, int] | None = None  # discs of the first and of the second player

    def __post_init__(self) -> None:
        if not 4 <= self.size <= 8:
            raise ValueError(f"Othello boards are 4x4 to 8x8, not {self.size}x{self.size}")
        if self.start_bits is None and self.size % 2:
            raise ValueError(
                f"a {self.size}x{self.size} board has no centre square of four: give a start "
                "position as text"
            )

    @property
    def name(self) -> str:
        return f"othello{self.size}" + ("-reversed" if self.is_reversed else "")

    @property
    def board_shape(self) -> tuple[int, int]:
        return self.size, self.size

    @property
    def num_actions(self) -> int:
        return self.size**2 + 1

    @property
    def pass_action(self) -> int:
        return self.size**2

    @property
    def max_legal(self) -> int:
        """See `protocol.Game`.

        From each of the mover's discs a legal move can lie in eight directions, so `k` discs have
        at most `8 * k`; nor are there more than empty squares, and the opponent has a disc too.
        """
        squares = self.size**2
        return max(min(8 * discs, squares - discs - 1) for discs in range(1, squares))

    @property
    def max_plies(self) -> int:
        """Two plies for each empty square: nobody passes twice without a disc in between."""
        player, opponent = self._start_bits
        return 2 * (self.size**2 - (player | opponent).bit_count())

    @property
    def packed_words(self) -> int:
        return 4

    @functools.cached_property
    def square_symmetries(self) -> np.ndarray:
        return symmetry.square_permutations(self.size)

    def start(self, *batch_shape: int) -> Position:
        return Position(*(bitboard.from_int(bits, *batch_shape) for bits in self._start_bits))

    def legal_squares(self, position: Position) -> bitboard.Bitboard:
        """Returns the squares where the side to move may place a disc."""
        return bitboard.legal_moves(position.player, position.opponent, self._board_bits)

    def legal_mask(self, position: Position) -> jax.Array:
        squares = bitboard.squares(self.legal_squares(position), *self.board_shape)
        squares = squares.reshape(*squares.shape[:-2], -1)
        must_pass = ~squares.any(axis=-1, keepdims=True)
        return jnp.concatenate([squares, must_pass], axis=-1)

    def legal_actions(self, position: Position, num_slots: int) -> jax.Array:
        squares = self.legal_squares(position)
        shape = (*squares.lower.shape, num_slots)
        squares = jax.tree.map(lambda word: jnp.broadcast_to(word[..., None], shape), squares)
        num_legal = squares.count()
        rank = jnp.broadcast_to(jnp.arange(num_slots), shape)
        action = self._square_action(bitboard.select_bit(squares, rank))
        action = jnp.where(rank < num_legal, action, -1)
        return jnp.where((num_legal == 0) & (rank == 0), self.pass_action, action)

    def is_over(self, position: Position) -> jax.Array:
        player_moves = self.legal_squares(position)
        opponent_moves = self.legal_squares(Position(position.opponent, position.player))
        return (player_moves | opponent_moves).is_empty()

    def play(self, position: Position, action: jax.Array) -> Position:
        """Returns the position after a legal action, seen by the other side: `step` without end."""
        disc = bitboard.square_bit(self._bit_index(action))
        flips = bitboard.flips(position.player, position.opponent, disc)
        return Position(
            player=position.opponent & ~flips,
            opponent=position.player | flips | disc,
        )

    def step(self, position: Position, action: jax.Array) -> protocol.Step:
        after = self.play(position, action)
        is_over = self.is_over(after)
        # A pass leads to a finished game only where the game was over already.
        was_over = is_over & (action == self.pass_action)
        is_last = is_over & ~was_over
        return protocol.Step(
            position=jax.tree.map(lambda new, old: jnp.where(was_over, old, new), after, position),
            reward=jnp.where(is_last, -self.result(after), 0.0),
            discount=jnp.where(was_over | is_last, 0.0, -1.0),
        )

    def num_empties(self, position: Position) -> jax.Array:
        """Returns `[...]` int32, how many squares are empty."""
        return self.size**2 - (position.player | position.opponent).count()

    def margin(self, position: Position) -> jax.Array:
        """Returns `[...]` int32, discs of the side to move minus the opponent's."""
        return position.player.count() - position.opponent.count()

    def score(self, position: Position) -> jax.Array:
        """Returns `[...]` int32, the final margin with the empty squares given to the winner.

        In reversed Othello too this is a margin of discs for the side to move: there the empty
        squares count as the loser's discs, so a negative score wins.
        """
        margin = self.margin(position)
        return margin + jnp.sign(margin) * self.num_empties(position)

    def result(self, position: Position) -> jax.Array:
        sign = -1.0 if self.is_reversed else 1.0
        return sign * jnp.sign(self.margin(position)).astype(jnp.float32)

    def planes(self, position: Position) -> jax.Array:
        both = (position.player, position.opponent)
        return jnp.stack([bitboard.squares(board, *self.board_shape) for board in both], axis=-1)

    def random_action(self, key: jax.Array, position: Position) -> jax.Array:
        squares = self.legal_squares(position)
        num_legal = squares.count()
        # 16 random bits times the count, shifted back: no division, a bias below 33 / 65536.
        word = jax.random.bits(key, num_legal.shape, jnp.uint16).astype(jnp.int32)
        index = bitboard.select_bit(squares, (word * num_legal) >> 16)
        return jnp.where(num_legal == 0, self.pass_action, self._square_action(index))

    def greedy_action(self, key: jax.Array, position: Position) -> jax.Array:
        """Returns the move that flips most discs (fewest in reversed Othello), ties at random."""
        board = jax.tree.map(lambda word: word[..., None], position)
        batch_shape = position.player.lower.shape
        actions = jnp.broadcast_to(jnp.arange(self.num_actions), (*batch_shape, self.num_actions))
        disc = bitboard.square_bit(self._bit_index(actions))
        num_flips = bitboard.flips(board.player, board.opponent, disc).count()
        preference = -num_flips if self.is_reversed else num_flips
        tie_break = jax.random.uniform(key, preference.shape)
        legal = self.legal_mask(position)
        return jnp.argmax(jnp.where(legal, preference + tie_break, -jnp.inf), axis=-1)

    def pack(self, position: Position) -> jax.Array:
        return jnp.stack(jax.tree.leaves(position), axis=-1)

    def unpack(self, packed: jax.Array) -> Position:
        words = [packed[..., i] for i in range(self.packed_words)]
        return Position(bitboard.Bitboard(*words[:2]), bitboard.Bitboard(*words[2:]))

    @functools.cached_property
    def _board_bits(self) -> int:
        return sum(1 << (8 * row + col) for row in range(self.size) for col in range(self.size))

    @property
    def _start_bits(self) -> tuple[int, int]:
        return self.start_bits or _usual_start(self.size)

    def _square_action(self, index: jax.Array) -> jax.Array:
        """Returns the action that places a disc on the square of a bit."""
        return (index >> 3) * self.size + (index & 7)

    def _bit_index(self, action: jax.Array) -> jax.Array:
        """Returns the bit of a square's action; -1 for the pass."""
        index = 8 * (action // self.size) + action % self.size
        return jnp.where(action == self.pass_action, -1, index)


def _usual_start(size: int) -> tuple[int, int]:
    """Returns the four centre discs: the first player (black) has d5 and e4 of an 8x8 board."""
    high = size // 2
    low = high - 1
    first = 1 << (8 * low + high) | 1 << (8 * high + low)
    second = 1 << (8 * low + low) | 1 << (8 * high + high)
    return first, second
