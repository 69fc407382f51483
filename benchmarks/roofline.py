"""How far from the device's own limits: operations and bytes counted, peaks measured.

Peaks are what a matrix product and passes over an array reach on this device, in this process.
Operations are XLA's count of a program as it is written, a multiplication and an addition as two;
bytes are its count of what the compiled program's parts read and write, caches disregarded.
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
NUM_PASSES = 16  # in one call: the first one waits for the system to hand out memory


@dataclasses.dataclass(frozen=True)
class Peaks:
    """What the device reaches at best."""

    dtype: str  # of the matrices
    flops_per_second: float
    bytes_per_second: float


@dataclasses.dataclass(frozen=True)
class Work:
    """What one call of a program does."""

    flops: float
    num_bytes: float


def measure_peaks(repeats: int) -> Peaks:
    """Measures the default device: float32 products on a CPU, bfloat16 elsewhere."""
    is_cpu = jax.default_backend() == "cpu"
    side, length = (CPU_SIDE, CPU_LENGTH) if is_cpu else (ACCELERATOR_SIDE, ACCELERATOR_LENGTH)
    dtype = jnp.float32 if is_cpu else jnp.bfloat16
    matrix = jnp.ones((side, side), dtype)

    def go_through(x: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, NUM_PASSES, lambda _, x: x + 1, x)

    programs = {
        "product": measure.compile_program(jnp.matmul, matrix, matrix),
        "passes": measure.compile_program(go_through, jnp.zeros(length)),
    }
    timings = measure.take_turns({name: one.call for name, one in programs.items()}, repeats)
    return Peaks(
        dtype=jnp.dtype(dtype).name,
        flops_per_second=2 * side**3 / min(timings["product"].seconds),
        bytes_per_second=NUM_PASSES * 2 * 4 * length / min(timings["passes"].seconds),
    )


def count(function: Callable[..., Any], *args: Any) -> Work:
    """Counts one call; loops count as one pass through their body."""
    lowered = jax.jit(function).lower(*args)
    written = lowered.cost_analysis()
    compiled = lowered.compile().cost_analysis()
    assert written is not None
    assert compiled is not None
    return Work(flops=written["flops"], num_bytes=compiled["bytes accessed"])
