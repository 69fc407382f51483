"""The protocol of a game. Search and learning use only this interface, and name no game.

A position is a pytree of arrays with leading batch axes `[...]`, seen by the side to move: the
player. All functions are pure, can be jitted, and accept any batch shape. Compiled code cannot
raise, so an illegal action gives an undefined position; check with `legal_mask` at the edge.

A class with all these members is a game. A subclass of `Game` inherits the defaults that it does
not replace.
"""

import abc
from typing import Any, Protocol

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from azo.games import board_symmetry

Position = Any  # the pytree of a game, such as `othello.Position`


@flax.struct.dataclass
class Step:
    """The result of one ply."""

    position: Position  # seen by the side that moves next; a finished game is unchanged
    reward: jax.Array  # [...] float32, result for the side that moved; 0 until the game ends
    discount: jax.Array  # [...] float32, -1 during the game, 0 from its last ply on


class Game(Protocol):
    """Rules of a two-player zero-sum game with turns, without chance or hidden information.

    Games are static arguments of compiled programs: equal games must have equal hashes.
    """

    @property
    @abc.abstractmethod
    def board_shape(self) -> tuple[int, int]:
        """Rows and columns of the planes."""

    @property
    @abc.abstractmethod
    def num_actions(self) -> int:
        """Number of actions `A`, at most 32,767."""

    @property
    @abc.abstractmethod
    def max_plies(self) -> int:
        """Upper bound on the plies of a game."""

    @abc.abstractmethod
    def start(self, *batch_shape: int) -> Position:
        """Returns start positions of a batch shape, seen by the side that moves first."""

    @abc.abstractmethod
    def legal_mask(self, position: Position) -> jax.Array:
        """Returns `[..., A]` bool, with at least one legal action, also in a finished game."""

    @abc.abstractmethod
    def is_over(self, position: Position) -> jax.Array:
        """Returns `[...]` bool, whether the game has ended."""

    @abc.abstractmethod
    def play(self, position: Position, action: jax.Array) -> Position:
        """Returns positions after legal actions `[...]`, seen by the other side."""

    @abc.abstractmethod
    def result(self, position: Position) -> jax.Array:
        """Returns `[...]` float32, 1, 0 or -1 for the side to move, where the game is over."""

    @abc.abstractmethod
    def planes(self, position: Position) -> jax.Array:
        """Returns `[..., rows, columns, C]` bool or float32: the network's view of the position.

        Board games have the pieces of the player, then of the opponent.
        """

    @property
    def name(self) -> str:
        """Name in logs and checkpoints, such as "othello6"; by default that of the class."""
        return type(self).__name__

    @property
    def has_square_actions(self) -> bool:
        """Whether the first actions are the squares, row by row, and symmetries fix all others.

        Pooled heads and pattern networks need it. By default True if there are as many actions as
        squares, or one more.
        """
        return 0 <= self.num_actions - self.board_shape[0] * self.board_shape[1] <= 1

    @property
    def max_legal(self) -> int:
        """Upper bound on the legal actions of a position; by default all actions."""
        return self.num_actions

    @property
    def num_slots(self) -> int:
        """Number of legal actions that a search stores per position, see `search_tree.compact`."""
        return self.max_legal

    @property
    def scores(self) -> np.ndarray:
        """`[Z]` int32, the final scores in ascending order: negative ones lose, 0 is a draw.

        The largest is at most 127. By default, the scores are -1, 0 and 1.
        """
        return np.arange(-1, 2, dtype=np.int32)

    @property
    def square_symmetries(self) -> np.ndarray:
        """`[K, squares]` int32 permutations, the identity first; by default only the identity.

        The eight symmetries of a square board are numbered as in `board_symmetry`.
        """
        return np.arange(self.board_shape[0] * self.board_shape[1], dtype=np.int32)[None]

    @property
    def action_symmetries(self) -> np.ndarray:
        """`[K, A]` int32, the permutations of the actions that belong to `square_symmetries`."""
        if self.has_square_actions or len(self.square_symmetries) == 1:
            return board_symmetry.with_others(self.square_symmetries, self.num_actions)
        raise NotImplementedError(f"{self.name} has square_symmetries, but no action_symmetries")

    def step(self, position: Position, action: jax.Array) -> Step:
        """Plays the legal actions `[...]` int32; a finished game does not change.

        To try many moves, batch axes of `position` may be 1 where those of `action` are not.
        """
        position = broadcast(position, self.is_over(position).shape, action.shape)
        was_over, after = self.is_over(position), self.play(position, action)
        is_last = ~was_over & self.is_over(after)
        return Step(
            position=where(was_over, position, after),
            reward=jnp.where(is_last, -self.result(after), 0.0),
            discount=jnp.where(was_over | is_last, 0.0, -1.0),
        )

    def final_score(self, position: Position) -> jax.Array:
        """Returns `[...]` int32, one of `scores`, for the side to move, where the game is over."""
        return self.result(position).astype(jnp.int32)

    def legal_actions(self, position: Position, num_slots: int) -> jax.Array:
        """Returns `[..., num_slots]` int32, the first legal actions in ascending order, then -1."""
        return actions_from_mask(self.legal_mask(position), num_slots)

    def legal_planes(self, position: Position) -> jax.Array:
        """Returns `[..., rows, columns, 2]` bool: moves of the player, then of the opponent.

        Only networks whose input has the moves need it; other games may leave it out.
        """
        raise ValueError(
            f"{self.name} has no legal_planes: the network should be a tower with input"
            " 'two_planes', which sees the planes of any game"
        )

    def random_action(self, key: jax.Array, position: Position) -> jax.Array:
        """Returns `[...]` int32, uniform over the legal actions."""
        legal = self.legal_mask(position)
        return jnp.argmax(jnp.where(legal, jax.random.uniform(key, legal.shape), -1.0), axis=-1)

    def greedy_action(self, key: jax.Array, position: Position) -> jax.Array:
        """Returns `[...]` int32, the move of a baseline that looks one ply ahead.

        By default it plays a winning move if there is one, else a random move.
        """
        actions = self.legal_actions(position, self.max_legal)
        axis = actions.ndim - 1
        before = jax.tree.map(lambda x: jnp.expand_dims(x, axis), position)
        wins = self.step(before, jnp.maximum(actions, 0)).reward > 0
        preference = jnp.where(actions >= 0, jax.random.uniform(key, actions.shape) + wins, -1.0)
        best = jnp.argmax(preference, axis=-1, keepdims=True)
        return jnp.take_along_axis(actions, best, axis=-1)[..., 0]

    @property
    def packed_words(self) -> int:
        """Number of uint32 words of a packed position."""
        return -(-sum(_num_bytes(one) for one in jax.tree.leaves(_one(self))) // 4)

    def pack(self, position: Position) -> jax.Array:
        """Returns positions as `[..., packed_words]` uint32: the bits of all their arrays."""

        def as_bytes(leaf: jax.Array, one: jax.ShapeDtypeStruct) -> jax.Array:
            batch = leaf.shape[: leaf.ndim - one.ndim]
            if one.dtype == jnp.bool_:
                return jnp.packbits(leaf.reshape(*batch, one.size), axis=-1)
            return jax.lax.bitcast_convert_type(leaf, jnp.uint8).reshape(*batch, _num_bytes(one))

        leaves = jax.tree.leaves(jax.tree.map(as_bytes, position, _one(self)))
        content = jnp.concatenate(leaves, axis=-1)
        ends = [(0, 0)] * (content.ndim - 1) + [(0, -content.shape[-1] % 4)]
        words = jnp.pad(content, ends).reshape(*content.shape[:-1], self.packed_words, 4)
        return jax.lax.bitcast_convert_type(words, jnp.uint32)

    def unpack(self, packed: jax.Array) -> Position:
        """Returns the positions that `packed` `[..., packed_words]` uint32 stores."""
        leaves, structure = jax.tree.flatten(_one(self))
        batch = packed.shape[:-1]
        content = jax.lax.bitcast_convert_type(packed, jnp.uint8).reshape(*batch, -1)
        position, first = [], 0
        for one in leaves:
            part = content[..., first : first + _num_bytes(one)]
            first += _num_bytes(one)
            if one.dtype == jnp.bool_:
                leaf = jnp.unpackbits(part, axis=-1, count=one.size).astype(bool)
            else:
                itemsize = one.dtype.itemsize
                part = part.reshape(*batch, one.size, *[itemsize][: itemsize > 1])
                leaf = jax.lax.bitcast_convert_type(part, one.dtype)
            position.append(leaf.reshape(*batch, *one.shape))
        return jax.tree.unflatten(structure, position)


def missing_members(game: Any) -> list[str]:
    """Returns the members of a game that an object lacks."""
    return sorted({member for member in vars(Game) if member[0] != "_"} - set(dir(game)))


def _one(game: Game) -> Any:
    """Returns the shapes and types of one position."""
    return jax.eval_shape(game.start)


def _num_bytes(one: jax.ShapeDtypeStruct) -> int:
    """Returns the bytes of an array in a packed position."""
    return -(-one.size // 8) if one.dtype == jnp.bool_ else one.size * one.dtype.itemsize


def broadcast(position: Any, shape: tuple[int, ...], new: tuple[int, ...]) -> Any:
    """Returns a pytree of arrays `[*shape, ...]` with the batch axes `new`."""
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (*new, *x.shape[len(shape) :])), position)


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
