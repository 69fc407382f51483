"""Arrays in a GPU's memory, of which a program reads or writes the part of one game."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas
from jax.experimental.pallas import triton

from azo.search import search_tree


@dataclasses.dataclass(frozen=True)
class Rows(search_tree.LazyArray):
    """An array `[B, N]` or `[B, N, S]`, seen as `[1, ...]` by the program of one game.

    The axes after the first are as long as the next power of two, because Triton has no others.
    Entries beyond the array are `empty`.
    """

    ref: Any  # of Pallas
    game: jax.Array  # [] int32
    empty: float = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """As of an array with one game."""
        return (1, *map(pallas.next_power_of_2, self.ref.shape[1:]))

    def at(self, node: jax.Array) -> jax.Array:
        """Returns the entries at nodes `[1]` or `[1, L]`, as `search_tree.at_node` does."""
        if self.ref.ndim == 2:
            return self._load(self.game, node)
        return self._load(self.game, node[:, None], self._last())

    def number(self) -> jax.Array:
        """Returns the number that all games share, an array `[1]`, as a scalar."""
        return triton.load(self.ref.at[jnp.zeros_like(self.game)])

    def whole(self) -> jax.Array:
        """Returns all entries of the game, `[1, N]`; an array `[B]` gives `[1]`."""
        if self.ref.ndim == 1:
            return self._load(self.game + jnp.arange(1))
        return self._load(self.game, self._last())

    def put(self, x: jax.Array) -> None:
        """Writes all entries of the game, `[1, N]` or `[1]`."""
        x = x.astype(self.ref.dtype)
        if self.ref.ndim == 1:
            triton.store(self.ref.at[self.game + jnp.arange(1)], x)
        else:
            triton.store(self.ref.at[self.game, self._last()], x, mask=self._mask(self._last()))

    def put_at(self, node: jax.Array, x: jax.Array) -> None:
        """Writes the entries at one node `[1]`, `[1]` or `[1, S]`."""
        x = x.astype(self.ref.dtype)
        if self.ref.ndim == 2:
            triton.store(self.ref.at[self.game, node], x)
        else:
            last = self._last()
            triton.store(self.ref.at[self.game, node[:, None], last], x, mask=self._mask(last))

    def _load(self, *index: jax.Array) -> jax.Array:
        mask = self._mask(index[-1]) if len(index) == self.ref.ndim > 1 else None
        other = None if mask is None else jnp.asarray(self.empty, self.ref.dtype)
        return triton.load(self.ref.at[index], mask=mask, other=other)

    def at_last(self, node: jax.Array) -> jax.Array:
        """Returns the last of the entries `[B, N, S]` at a node `[1]`."""
        last = jnp.full_like(node, self.ref.shape[-1] - 1)
        return triton.load(self.ref.at[self.game, node, last])

    def _last(self) -> jax.Array:
        """Returns the indices along the last axis, `[1, S]`."""
        return jnp.arange(self.shape[-1])[None]

    def _mask(self, last: jax.Array) -> jax.Array | None:
        size = self.ref.shape[-1]
        return None if size == self.shape[-1] else last < size


def of_tree(tree: Any) -> Any:
    """Returns a `search_tree.Tree` of `Rows` in which slots beyond the arrays hold no move."""
    moves = search_tree.Moves(
        action=dataclasses.replace(tree.moves.action, empty=-1),
        logits=dataclasses.replace(tree.moves.logits, empty=float(jnp.finfo(jnp.float32).min)),
    )
    child = dataclasses.replace(tree.child, empty=search_tree.UNVISITED)
    return dataclasses.replace(tree, moves=moves, child=child)
