"""The device's limits: operations and bytes are counted, peaks are measured.

Peaks are measured by a matrix product and by passes over an array, on this device and in this
process. Operations are XLA's count of the uncompiled program; a multiplication and an addition are
two. Bytes are XLA's count of reads and writes by the parts of the compiled program, without caches.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks import measure

CPU_SIDE = 2048  # of the matrices
CPU_LENGTH = 2**25  # of the array, float32
ACCELERATOR_SIDE = 8192
ACCELERATOR_LENGTH = 2**28
NUM_PASSES = 16  # in one call, because the first pass waits for the allocation of memory


@dataclasses.dataclass(frozen=True)
class Peaks:
    """Highest measured speeds of the device."""

    dtype: str  # of the matrices
    flops_per_second: float
    bytes_per_second: float


@dataclasses.dataclass(frozen=True)
class Work:
    """Operations and bytes of one call of a program."""

    flops: float
    num_bytes: float


def measure_peaks(repeats: int) -> Peaks:
    """Measures the default device: float32 products on a CPU, bfloat16 elsewhere."""
    is_cpu = jax.default_backend() == "cpu"
    side, length = (CPU_SIDE, CPU_LENGTH) if is_cpu else (ACCELERATOR_SIDE, ACCELERATOR_LENGTH)
    dtype = jnp.float32 if is_cpu else jnp.bfloat16
    matrix = jnp.ones((side, side), dtype)

    def read_and_write(x: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, NUM_PASSES, lambda _, x: x + 1, x)

    programs = {
        "product": measure.compile_program(jnp.matmul, matrix, matrix),
        "passes": measure.compile_program(read_and_write, jnp.zeros(length)),
    }
    timings = measure.take_turns({name: one.call for name, one in programs.items()}, repeats)
    return Peaks(
        dtype=jnp.dtype(dtype).name,
        flops_per_second=2 * side**3 / min(timings["product"].seconds),
        bytes_per_second=NUM_PASSES * 2 * 4 * length / min(timings["passes"].seconds),
    )


def count(function: Callable[..., Any], *args: Any) -> Work:
    """Counts one call; a loop counts as one pass through its body."""
    lowered = jax.jit(function).lower(*args)
    uncompiled = lowered.cost_analysis()
    compiled = lowered.compile().cost_analysis()
    assert uncompiled is not None
    assert compiled is not None
    return Work(flops=uncompiled["flops"], num_bytes=compiled["bytes accessed"])
