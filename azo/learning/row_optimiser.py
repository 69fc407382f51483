"""Adagrad with one step size a row of a table, of which a batch meets few rows."""

from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import optax

# About the sum of a row that ten examples have met, in batches of 512: rows met less often take
# smaller steps, so that no single example fixes the entries of a rare content.
_FIRST_SUM = 1e-6


@flax.struct.dataclass
class RowAdagradState:
    """Sums over all steps."""

    squares: Any  # [..., R] float32 for each table `[..., R, W]`: mean squared gradient of a row
    num_steps: jax.Array  # [] int32


def row_adagrad(rate: optax.Schedule) -> optax.GradientTransformation:
    """Returns Adagrad (Duchi, Hazan and Singer 2011) with one step size a row.

    A row without a gradient keeps its entries and its sum.
    """

    def init(tables: Any) -> RowAdagradState:
        squares = jax.tree.map(lambda x: jnp.full(x.shape[:-1], _FIRST_SUM), tables)
        return RowAdagradState(squares, jnp.int32(0))

    def update(
        gradient: Any, state: RowAdagradState, params: Any = None
    ) -> tuple[Any, RowAdagradState]:
        del params
        squares = jax.tree.map(
            lambda g, s: s + jnp.square(g).mean(axis=-1), gradient, state.squares
        )
        step = rate(state.num_steps)
        updates = jax.tree.map(
            lambda g, s: -step * g * jax.lax.rsqrt(s)[..., None], gradient, squares
        )
        return updates, RowAdagradState(squares, state.num_steps + 1)

    return optax.GradientTransformation(init, update)
