"""The lanes of the solver as one kernel for NVIDIA GPUs: no lane waits for the host.

XLA's loop takes some twenty kernels for each step of all lanes, and the host reads whether to go
on. Here a program of 32 lanes steps until its own searches are done. It traces `lanes.Searcher`.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas
from jax.experimental.pallas import triton

from azo.games import bitboard, othello
from azo.solver.device import lanes

_NUM_LANES = 32  # of one program: a warp


def search(
    searcher: lanes.Searcher,
    position: othello.Position,
    is_included: jax.Array,
    *,
    is_interpreted: bool = False,
) -> tuple[jax.Array, jax.Array]:
    """See `batched.search_lanes`. Interpreted, it runs on any device."""
    (num_positions,) = is_included.shape
    num_programs = -(-num_positions // _NUM_LANES)
    padded = num_programs * _NUM_LANES
    (queue,) = jnp.nonzero(is_included, size=padded, fill_value=num_positions)
    words = jax.tree.leaves(position)
    inputs = [word.at[queue].get(mode="clip") for word in words]
    in_kernel = _KernelSearcher(searcher.game, searcher.max_empties)

    def kernel(*refs: Any) -> None:
        lane = pallas.program_id(0) * _NUM_LANES + jnp.arange(_NUM_LANES)
        *given, is_used = (triton.load(ref.at[lane]) for ref in refs[:-2])
        root = jax.tree.unflatten(jax.tree.structure(position), given)
        with bitboard.in_kernel():
            done = jax.lax.while_loop(
                lambda state: (state.is_solved | (is_used == 0)).astype(jnp.int32).min() == 0,
                in_kernel.step,
                in_kernel.start(root),
            )
        for ref, x in zip(refs[-2:], (done.utility, done.nodes), strict=True):
            triton.store(ref.at[lane], x)

    shape = jax.ShapeDtypeStruct((padded,), jnp.int32)
    found = pallas.pallas_call(
        kernel,
        grid=(num_programs,),
        out_shape=[shape, shape],
        compiler_params=triton.CompilerParams(num_warps=1),
        interpret=is_interpreted,
        name="endings",
    )(*inputs, (queue < num_positions).astype(jnp.int32))
    zeros = jnp.zeros(num_positions, jnp.int32)
    utility, nodes = (zeros.at[queue].set(x, mode="drop") for x in found)
    return utility, nodes


class _KernelSearcher(lanes.Searcher):
    """Searches of which each array has a power of two entries, as Triton wants it."""

    def _where_any(self, mask: jax.Array, full: Any, short: Any, operand: Any) -> Any:
        del mask, short
        return full(operand)

    def _rows(self, num_rows: int, tree: Any) -> Any:
        return super()._rows(pallas.next_power_of_2(num_rows), tree)

    def _read(self, stack: Any, row: jax.Array) -> Any:
        def read(rows: jax.Array) -> jax.Array:
            is_row = jnp.arange(rows.shape[0])[:, None] == row[None]
            numbers = rows.astype(jnp.int32) if rows.dtype == bool else rows
            return jnp.where(is_row, numbers, 0).sum(axis=0, dtype=numbers.dtype).astype(rows.dtype)

        return jax.tree.map(read, stack)
