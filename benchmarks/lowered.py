"""Reads programs that are lowered for CUDA on any machine: operations, kernels, bytes and memory.

The program is StableHLO, before XLA compiles it, so kernels are estimates by these rules:

* A matrix product, convolution, reduction, scatter, sort or update of a slice is a kernel. Its
  results lie in memory, and so do the carries of loops.
* Element-wise operations and gathers are fused into the kernels that use them. A result that
  several operations use is written to memory if that moves fewer bytes.
* A kernel reads each of its sources once. A gather reads whole sectors of memory.
* Scatters, updates of slices and carries of loops happen in place.
* The host reads the condition of a branch, and that of a loop that does not count.

XLA also merges kernels that share their inputs, and it copies some carries. Neither is counted.
"""

import collections
import dataclasses
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import jax

from benchmarks import fusion, stablehlo
from benchmarks.stablehlo import Array, Block, Operation

PLATFORM = "cuda"


@dataclasses.dataclass(frozen=True)
class Kernel:
    """One kernel of a program, or a condition that the host has to read."""

    kind: str  # the operation, "fusion" of element-wise operations, or "condition"
    scope: str  # names of the surrounding scopes, functions and loops, separated by /
    dtype: str  # of the first operand; "tf32" for float32 products of default precision
    num_bytes: float  # read and written in one call
    flops: float  # of matrix products in one call; a multiplication and an addition are two
    calls: float  # in one run of the program; 0 in the rarer branches of a condition


@dataclasses.dataclass(frozen=True)
class Program:
    """What a lowered program consists of."""

    kernels: tuple[Kernel, ...]
    operations: collections.Counter[str]  # by name, all branches, each loop's body once
    vector_operations: dict[str, float]  # element-wise operations in one run, by scope
    dtypes: frozenset[str]
    custom_calls: frozenset[str]  # names of foreign functions
    peak_bytes: float  # largest sum of the arguments and all arrays in memory

    @property
    def num_bytes(self) -> float:
        """Bytes of all kernels, each loop's body once, all branches."""
        return sum(kernel.num_bytes for kernel in self.kernels)

    @property
    def num_kernels(self) -> int:
        """Kernels, each loop's body once, all branches."""
        return sum(kernel.kind != "condition" for kernel in self.kernels)


def lower(function: Callable[..., Any], *args: Any) -> Any:
    """Returns the StableHLO module of a function for one GPU; arguments may be shapes."""
    jitted = function if hasattr(function, "trace") else jax.jit(function)
    lowered = jitted.trace(*args).lower(lowering_platforms=(PLATFORM,))
    return lowered.compiler_ir("stablehlo")


def read(module: Any, passes: Mapping[str, float] | None = None) -> Program:
    """Returns what a module consists of.

    Args:
      module: from `lower`.
      passes: expected passes of loops whose number of passes depends on data, by a scope around
        them; 1 for all others.
    """
    source = stablehlo.Reader(module)
    account = _Account(passes or {})
    peak, _ = account.add(source.main, 1.0, source.donated)
    return Program(
        kernels=tuple(account.kernels),
        operations=source.operations,
        vector_operations=dict(account.vector_operations),
        dtypes=frozenset(source.dtypes),
        custom_calls=frozenset(source.custom_calls),
        peak_bytes=sum(x.num_bytes for x in source.main.params) + peak,
    )


class _Account:
    """Collects the kernels of a program."""

    def __init__(self, passes: Mapping[str, float]):
        self.passes = passes
        self.kernels: list[Kernel] = []
        self.vector_operations: collections.Counter[str] = collections.Counter()

    def add(
        self, block: Block, calls: float, reusable: list[Array] | None = None
    ) -> tuple[float, set[Array]]:
        """Adds the kernels of a block.

        Args:
          block: the block.
          calls: of the block in one run of the program.
          reusable: parameters whose memory may hold results; by default all, as in loops.

        Returns:
          The most bytes in memory besides the parameters, and the arrays from outside.
        """
        arrays = fusion.Fusion(block)
        peaks: dict[Operation, float] = {}
        for op in block.operations:
            if op.kind == "while":
                counted = self.counted_passes(op)
                passes = calls * (self.expected_passes(op) if counted is None else counted)
                condition, body = op.blocks
                if counted is None:
                    _, outside = self.add(condition, passes + calls)
                    self.add_condition(op, passes + calls)
                else:
                    outside = set()
                peaks[op], more = self.add(body, passes)
                arrays.captured[op] = outside | more
            elif op.kind == "case":
                peaks[op], arrays.captured[op] = self.add_branches(op, calls)
                self.add_condition(op, calls)
            elif op.kind not in fusion.FREE_KINDS | fusion.MATRIX_KINDS:
                array = op.operands[0] if op.kind.startswith("reduce") else op.results[0]
                self.vector_operations[op.scope] += calls * math.prod(array.shape)
        arrays.decide()
        for op, kind in arrays.kernels():
            if kind in ("while", "case"):
                continue
            num_bytes = sum(arrays.sources(op).values()) + fusion.written(op)
            self.kernels.append(Kernel(kind, op.scope, _dtype(op), num_bytes, _flops(op), calls))
        return arrays.peak(peaks, block.params if reusable is None else reusable), arrays.outside

    def add_branches(self, op: Operation, calls: float) -> tuple[float, set[Array]]:
        """Adds the kernels of all branches; only the one that moves fewest bytes has calls."""
        earlier, operations = self.kernels, self.vector_operations
        branches, peaks, outside = [], [], set()
        for block in op.blocks:
            self.kernels, self.vector_operations = [], collections.Counter()
            peak, more = self.add(block, calls)
            branches.append((self.kernels, self.vector_operations))
            peaks.append(peak)
            outside |= more
        usual = min(branches, key=lambda branch: sum(x.num_bytes * x.calls for x in branch[0]))
        self.kernels, self.vector_operations = earlier, operations + usual[1]
        for kernels, _ in branches:
            is_usual = kernels is usual[0]
            self.kernels += [
                kernel if is_usual else dataclasses.replace(kernel, calls=0.0) for kernel in kernels
            ]
        return max(peaks), outside

    def add_condition(self, op: Operation, calls: float) -> None:
        self.kernels.append(Kernel("condition", op.scope, "i1", 0.0, 0.0, calls))

    def expected_passes(self, loop: Operation) -> float:
        names = loop.scope.split("/")
        return next((self.passes[name] for name in reversed(names) if name in self.passes), 1.0)

    def counted_passes(self, loop: Operation) -> float | None:
        """Returns the passes of a counting loop, None for another."""
        condition = loop.blocks[0]
        last = condition.results[0].producer
        if last is not None and last.kind == "compare":
            counter, limit = last.operands
            if counter in condition.params and limit.number is not None:
                first = loop.operands[condition.params.index(counter)].number
                if first is not None:
                    return float(limit.number - first)
        return None


def _dtype(op: Operation) -> str:
    array = op.operands[0] if op.operands else op.results[0]
    if op.kind in fusion.MATRIX_KINDS and array.dtype == "f32":
        precision = str(op.attributes["precision_config"])
        return "f32" if "HIGH" in precision else "tf32"
    return array.dtype


def _flops(op: Operation) -> float:
    if op.kind == "convolution":
        kernel = op.operands[1].shape
        numbers = str(op.attributes["dimension_numbers"]).split("x[")[1].split("]")[0]
        features = kernel[[name.strip() for name in numbers.split(",")].index("o")]
        return 2.0 * math.prod(op.results[0].shape) * math.prod(kernel) / features
    if op.kind == "dot_general":
        text = str(op.attributes["dot_dimension_numbers"])
        match = re.search(r"lhs_contracting_dimensions = \[([\d, ]*)\]", text)
        dims = [int(x) for x in match.group(1).split(",")] if match else []
        return (
            2.0 * math.prod(op.results[0].shape) * math.prod(op.operands[0].shape[d] for d in dims)
        )
    return 0.0
