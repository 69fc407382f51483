"""What a game must offer, so that search, learning and measure never name one.

A position is a pytree of arrays with leading batch axes `[...]`, seen by the side to move. All
functions are pure, jittable, and work on any batch shape. An illegal action gives an undefined
position, never an error: compiled code cannot raise, so check at the edge with `legal_mask`.
"""

from typing import Any, Protocol

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

Position = Any  # a game's own pytree


@flax.struct.dataclass
class Step:
    """What one ply did."""

    position: Position  # seen by the side that moves next; unchanged if the game was over before
    reward: jax.Array  # [...] float32, result for the player who moved; 0 until the game ends
    discount: jax.Array  # [...] float32, -1 while the game goes on, 0 from its last ply on


class Game(Protocol):
    """Rules of a two-player zero-sum game on a rectangular board."""

    @property
    def name(self) -> str:
        """Name for logs and checkpoints, such as `othello6`."""

    @property
    def board_shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    def num_actions(self) -> int:
        """Number of actions `A`. The first rows * columns are squares, row by row."""

    @property
    def max_legal(self) -> int:
        """No position has more legal actions than this."""

    @property
    def max_plies(self) -> int:
        """No game is longer than this."""

    @property
    def packed_words(self) -> int:
        """Number of uint32 that `pack` makes of a position."""

    @property
    def square_symmetries(self) -> np.ndarray:
        """`[K, squares]` int32: square `s` of a board moved by symmetry `k` was square `[k, s]`."""

    def start(self, *batch_shape: int) -> Position:
        """Returns start positions."""

    def legal_mask(self, position: Position) -> jax.Array:
        """Returns `[..., A]` bool, at least one of them true, also when the game is over."""

    def legal_actions(self, position: Position, num_slots: int) -> jax.Array:
        """Returns `[..., num_slots]` int32, the first legal actions in ascending order, then -1."""

    def is_over(self, position: Position) -> jax.Array:
        """Returns `[...]` bool."""

    def step(self, position: Position, action: jax.Array) -> Step:
        """Plays one ply. `action` is `[...]` int32, legal. A game that is over stays as it is."""

    def result(self, position: Position) -> jax.Array:
        """Returns `[...]` float32 in {-1, 0, 1} for the side to move, as if the game ended here."""

    def planes(self, position: Position) -> jax.Array:
        """Returns `[..., rows, columns, 2]` bool: the mover's pieces, then the other side's."""

    def random_action(self, key: jax.Array, position: Position) -> jax.Array:
        """Returns `[...]` int32, uniform over the legal actions."""

    def greedy_action(self, key: jax.Array, position: Position) -> jax.Array:
        """Returns `[...]` int32, the move of a simple baseline that looks one ply ahead."""

    def pack(self, position: Position) -> jax.Array:
        """Returns `[..., packed_words]` uint32."""

    def unpack(self, packed: jax.Array) -> Position:
        """Returns the positions that `pack` was given."""


def actions_from_mask(legal: jax.Array, num_slots: int) -> jax.Array:
    """Returns `legal_actions` from a mask `[..., A]`, by sorting, which is slow."""
    num_actions = legal.shape[-1]
    ascending = jnp.sort(jnp.where(legal, jnp.arange(num_actions), num_actions))[..., :num_slots]
    return jnp.where(ascending < num_actions, ascending, -1)
