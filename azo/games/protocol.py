"""The protocol of a game: search, learning and measure use it and name no game.

A position is a pytree of arrays with leading batch axes `[...]`, seen by the side to move: the
player. All functions are pure, can be jitted, and accept any batch shape. Compiled code cannot
raise, so an illegal action gives an undefined position; check with `legal_mask` at the edge.
"""

from typing import Any, Protocol

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

Position = Any  # the pytree of a game, such as `othello.Position`


@flax.struct.dataclass
class Step:
    """The result of one ply."""

    position: Position  # seen by the side that moves next; a finished game is unchanged
    reward: jax.Array  # [...] float32, result for the side that moved; 0 until the game ends
    discount: jax.Array  # [...] float32, -1 during the game, 0 from its last ply on


class Game(Protocol):
    """Rules of a two-player zero-sum game on a rectangular board."""

    @property
    def name(self) -> str:
        """Name in logs and checkpoints, such as "othello6"."""

    @property
    def board_shape(self) -> tuple[int, int]:
        """Rows and columns of the board."""

    @property
    def num_actions(self) -> int:
        """Number of actions `A`; the first rows * columns are the squares, row by row."""

    @property
    def max_legal(self) -> int:
        """Upper bound on the legal actions of a position."""

    @property
    def max_plies(self) -> int:
        """Upper bound on the plies of a game."""

    @property
    def scores(self) -> np.ndarray:
        """`[Z]` int32, the final scores in ascending order: negative ones lose, 0 is a draw."""

    @property
    def packed_words(self) -> int:
        """Number of uint32 words of a packed position."""

    @property
    def square_symmetries(self) -> np.ndarray:
        """`[K, squares]` int32 permutations, the identity first.

        All eight of a square board are numbered as in `board_symmetry`.
        """

    def start(self, *batch_shape: int) -> Position:
        """Returns start positions of a batch shape, seen by the side that moves first."""

    def legal_mask(self, position: Position) -> jax.Array:
        """Returns `[..., A]` bool, with at least one legal action, also in a finished game."""

    def legal_actions(self, position: Position, num_slots: int) -> jax.Array:
        """Returns `[..., num_slots]` int32, the first legal actions in ascending order, then -1."""

    def is_over(self, position: Position) -> jax.Array:
        """Returns `[...]` bool, whether the game has ended."""

    def step(self, position: Position, action: jax.Array) -> Step:
        """Plays the legal actions `[...]` int32; a finished game does not change."""

    def final_score(self, position: Position) -> jax.Array:
        """Returns `[...]` int32, one of `scores`, for the side to move if the game ended here."""

    def result(self, position: Position) -> jax.Array:
        """Returns `[...]` float32, the sign of `final_score`."""

    def planes(self, position: Position) -> jax.Array:
        """Returns `[..., rows, columns, 2]` bool: pieces of the player, then of the opponent."""

    def legal_planes(self, position: Position) -> jax.Array:
        """Returns `[..., rows, columns, 2]` bool: moves of the player, then of the opponent."""

    def random_action(self, key: jax.Array, position: Position) -> jax.Array:
        """Returns `[...]` int32, uniform over the legal actions."""

    def greedy_action(self, key: jax.Array, position: Position) -> jax.Array:
        """Returns `[...]` int32, the move of a baseline that looks one ply ahead."""

    def pack(self, position: Position) -> jax.Array:
        """Returns positions as `[..., packed_words]` uint32."""

    def unpack(self, packed: jax.Array) -> Position:
        """Returns the positions that `packed` `[..., packed_words]` uint32 stores."""


def where(condition: jax.Array | bool, chosen: Any, other: Any) -> Any:
    """Returns the arrays `[..., *]` of one pytree where `condition` `[...]`, else of another.

    A pytree without the axes `[...]`, such as one start position, stands for all of a batch.
    """
    condition = jnp.asarray(condition)

    def choose(x: Any, y: Any) -> jax.Array:
        shape = jnp.broadcast_shapes(jnp.shape(x), jnp.shape(y))
        is_chosen = condition.reshape(condition.shape + (1,) * (len(shape) - condition.ndim))
        shape = jnp.broadcast_shapes(is_chosen.shape, shape)
        is_chosen, x, y = (jnp.broadcast_to(array, shape) for array in (is_chosen, x, y))
        return jnp.where(is_chosen, x, y)

    return jax.tree.map(choose, chosen, other)


def actions_from_mask(legal: jax.Array, num_slots: int) -> jax.Array:
    """Returns `legal_actions` of a mask `[..., A]` bool, by a slow sort."""
    num_actions = legal.shape[-1]
    ascending = jnp.sort(jnp.where(legal, jnp.arange(num_actions), num_actions))[..., :num_slots]
    return jnp.where(ascending < num_actions, ascending, -1)
