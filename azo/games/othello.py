"""Othello rules on batches of positions, for 4x4, 6x6 and 8x8 boards, normal and reversed.

A position is seen by the side to move: `player` are its discs, `opponent` the other side's.
Colour appears only in `notation` and the front ends. Action `row * n + column` places a disc, and
action `n * n` is the pass, legal if and only if no square is. A game is over when neither side can
place a disc. A position is fully described by its discs: 16 bytes.
"""

import flax.struct
import jax
import jax.numpy as jnp

from azo.games import bitboard, protocol, variant


@flax.struct.dataclass
class Position:
    """A batch of positions, seen by the side to move."""

    player: bitboard.Bitboard  # discs of the side to move
    opponent: bitboard.Bitboard  # discs of the other side, disjoint from `player`


class Othello(variant.Variant):
    """Rules of a variant of Othello; `protocol.Game` describes the methods."""

    def start(self, *batch_shape: int) -> Position:
        """Returns start positions of a batch shape, seen by the side that moves first."""
        return Position(*(bitboard.from_int(bits, *batch_shape) for bits in self.start_discs))

    def legal_squares(self, position: Position) -> bitboard.Bitboard:
        """Returns the squares `[...]` where the side to move may place a disc."""
        return bitboard.legal_moves(position.player, position.opponent, self.board_bits)

    def legal_mask(self, position: Position) -> jax.Array:
        """Returns `[..., A]` bool; the pass is legal if no square is, also in a finished game."""
        squares = bitboard.squares(self.legal_squares(position), *self.board_shape)
        squares = squares.reshape(*squares.shape[:-2], self.size**2)
        must_pass = ~squares.any(axis=-1, keepdims=True)
        return jnp.concatenate([squares, must_pass], axis=-1)

    def legal_actions(self, position: Position, num_slots: int) -> jax.Array:
        """Returns `[..., num_slots]` int32, the first legal actions in ascending order, then -1."""
        squares = self.legal_squares(position)
        shape = (*squares.lower.shape, num_slots)
        squares = jax.tree.map(lambda word: jnp.broadcast_to(word[..., None], shape), squares)
        num_legal = squares.count()
        rank = jnp.broadcast_to(jnp.arange(num_slots), shape)
        action = self._square_action(bitboard.select_bit(squares, rank))
        action = jnp.where(rank < num_legal, action, -1)
        return jnp.where((num_legal == 0) & (rank == 0), self.pass_action, action)

    def is_over(self, position: Position) -> jax.Array:
        """Returns `[...]` bool, whether neither side can place a disc."""
        return bitboard.is_blocked(position.player, position.opponent, self.board_bits)

    def play(self, position: Position, action: jax.Array) -> Position:
        """Returns the positions after legal actions `[...]`, seen by the other side."""
        return self.place(position, bitboard.square_bit(self._bit_index(action)))

    def place(self, position: Position, disc: bitboard.Bitboard) -> Position:
        """Returns the positions after a disc on a legal square, or a pass where it has no bit."""
        flips = bitboard.flips(position.player, position.opponent, disc)
        return Position(position.opponent & ~flips, position.player | flips | disc)

    def step(self, position: Position, action: jax.Array) -> protocol.Step:
        """Plays the legal actions `[...]` int32; a finished game does not change."""
        after = self.play(position, action)
        is_over = self.is_over(after)
        # A pass leads to a finished position only if the game was over before.
        was_over = is_over & (action == self.pass_action)
        is_last = is_over & ~was_over
        return protocol.Step(
            position=protocol.where(was_over, position, after),
            reward=jnp.where(is_last, -self.result(after), 0.0),
            discount=jnp.where(was_over | is_last, 0.0, -1.0),
        )

    def empties(self, position: Position) -> bitboard.Bitboard:
        """Returns the empty squares `[...]`."""
        return ~(position.player | position.opponent) & bitboard.from_int(self.board_bits)

    def num_empties(self, position: Position) -> jax.Array:
        """Returns `[...]` int32, the number of empty squares."""
        return self.size**2 - (position.player | position.opponent).count()

    def margin(self, position: Position) -> jax.Array:
        """Returns `[...]` int32, discs of the side to move minus the opponent's."""
        return position.player.count() - position.opponent.count()

    def score(self, position: Position) -> jax.Array:
        """Returns `[...]` int32, the final margin with the empty squares given to the winner.

        It counts discs for the side to move in reversed Othello as well. There the empty squares
        go to the loser, so a negative score wins.
        """
        margin = self.margin(position)
        return margin + jnp.sign(margin) * self.num_empties(position)

    def final_score(self, position: Position) -> jax.Array:
        """Returns `[...]` int32, the score if the game ended here, negated in reversed Othello.

        A positive final score wins in both variants.
        """
        return -self.score(position) if self.is_reversed else self.score(position)

    def result(self, position: Position) -> jax.Array:
        """Returns `[...]` float32, 1, 0 or -1 for the side to move if the game ended here."""
        sign = -1.0 if self.is_reversed else 1.0
        return sign * jnp.sign(self.margin(position)).astype(jnp.float32)

    def planes(self, position: Position) -> jax.Array:
        """Returns `[..., n, n, 2]` bool: discs of the player, then of the opponent."""
        return bitboard.planes((position.player, position.opponent), *self.board_shape)

    def legal_planes(self, position: Position) -> jax.Array:
        """Returns `[..., n, n, 2]` bool: squares where the player, and the opponent, may play."""
        other = Position(position.opponent, position.player)
        both = (self.legal_squares(position), self.legal_squares(other))
        return bitboard.planes(both, *self.board_shape)

    def random_action(self, key: jax.Array, position: Position) -> jax.Array:
        """Returns `[...]` int32, uniform over the legal actions."""
        squares = self.legal_squares(position)
        num_legal = squares.count()
        # 16 random bits times the count, shifted back: no division, bias below 33 / 65536.
        word = jax.random.bits(key, num_legal.shape, jnp.uint16).astype(jnp.int32)
        index = bitboard.select_bit(squares, (word * num_legal) >> 16)
        return jnp.where(num_legal == 0, self.pass_action, self._square_action(index))

    def greedy_action(self, key: jax.Array, position: Position) -> jax.Array:
        """Returns `[...]` int32, the move with most flips (reversed: fewest), ties at random."""
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
        """Returns positions as `[..., 4]` uint32."""
        return jnp.stack(jax.tree.leaves(position), axis=-1)

    def unpack(self, packed: jax.Array) -> Position:
        """Returns the positions that `packed` `[..., 4]` uint32 stores."""
        words = [packed[..., i] for i in range(self.packed_words)]
        return Position(bitboard.Bitboard(*words[:2]), bitboard.Bitboard(*words[2:]))

    def _square_action(self, index: jax.Array) -> jax.Array:
        """Returns the actions `[...]` that place discs on bits `[...]`."""
        return (index >> 3) * self.size + (index & 7)

    def _bit_index(self, action: jax.Array) -> jax.Array:
        """Returns the bits `[...]` of the actions `[...]`; -1 for the pass."""
        index = 8 * (action // self.size) + action % self.size
        return jnp.where(action == self.pass_action, -1, index)
