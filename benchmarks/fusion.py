"""Which arrays of a program lie in a GPU's memory, and what each kernel reads and writes.

The rules are those of `lowered`.
"""

import collections
import math
from collections.abc import Iterable, Mapping

from benchmarks.stablehlo import Array, Block, Operation

SECTOR_BYTES = 32  # smallest read of a GPU's memory
MATRIX_KINDS = {"convolution", "dot_general"}
_IN_PLACE_KINDS = {"scatter", "dynamic_update_slice", "while"}
# Operations whose operands must lie in memory.
_READ_FROM_MEMORY = MATRIX_KINDS | {"sort", "top_k", "custom_call", "while"}
COLLECTIVES = {
    "all_reduce", "all_gather", "all_to_all", "reduce_scatter", "collective_permute",
    "collective_broadcast",
}  # fmt: skip
_KERNEL_KINDS = (
    _READ_FROM_MEMORY
    | COLLECTIVES
    | {"scatter", "dynamic_update_slice", "reduce", "reduce_window", "case", "rng_bit_generator"}
)
FREE_KINDS = {
    "constant", "reshape", "broadcast_in_dim", "iota", "optimization_barrier", "bitcast_convert",
    "sharding_constraint", "gather", "dynamic_slice", "slice", "transpose", "concatenate", "pad",
}  # fmt: skip


class Fusion:
    """Which arrays of a block lie in memory, and what each kernel reads."""

    def __init__(self, block: Block):
        self.block = block
        self.captured: dict[Operation, set[Array]] = {}  # by loops and branches, to be filled
        self.stored: set[Array] = set(block.params)  # in memory
        self.outside: set[Array] = set()  # used, but not made in the block
        self.memo: dict[Array, dict[Array, float]] = {}

    def decide(self) -> None:
        """Decides which arrays lie in memory; `captured` has to be complete."""
        operations = self.block.operations
        own = {x for op in operations for x in op.results} | set(self.block.params)
        uses: collections.Counter[Array] = collections.Counter()
        for op in operations:
            uses.update(set(op.operands))
            for x in self.captured.get(op, ()):
                if x in own:
                    self.stored.add(x)
                else:
                    self.outside.add(x)
            if op.kind in _KERNEL_KINDS:
                self.stored.update(op.results)
            if op.kind in _READ_FROM_MEMORY:
                self.stored.update(op.operands)
            elif op.kind in _IN_PLACE_KINDS:
                self.stored.add(op.operands[0])
        self.stored.update(self.block.results)
        self.own = own
        self.memo = {}
        for op in operations:  # operands come before their uses
            for x in op.results:
                if x in self.stored or uses[x] < 2 or op.kind == "constant":
                    continue
                cost = sum(self.reads(x).values())
                if cost + (1 + uses[x]) * x.num_bytes < uses[x] * cost:
                    self.stored.add(x)
                    self.memo.pop(x, None)

    def reads(self, x: Array) -> dict[Array, float]:
        """Returns the bytes that a use of an array reads from each array in memory."""
        if x in self.memo:
            return self.memo[x]
        if x.is_uniform:
            result: dict[Array, float] = {}
        elif x in self.stored or x not in self.own or x.producer is None:
            if x not in self.own:
                self.outside.add(x)
            result = {x: x.num_bytes}
        else:
            result = self.sources(x.producer)
        self.memo[x] = result
        return result

    def sources(self, op: Operation) -> dict[Array, float]:
        """Returns the bytes that an operation reads from each array in memory."""
        if op.kind == "constant":
            return {x: x.num_bytes for x in op.results if not x.is_uniform}
        sources: dict[Array, float] = {}
        for index, operand in enumerate(op.operands):
            limit = _largest_read(op) if index == 0 else math.inf
            for array, num_bytes in self.reads(operand).items():
                sources[array] = max(sources.get(array, 0.0), min(num_bytes, limit))
        return sources

    def kernels(self) -> Iterable[tuple[Operation, str]]:
        """Yields the last operation of each kernel, and the kind of the kernel."""
        for op in self.block.operations:
            if op.kind in _KERNEL_KINDS:
                yield op, op.kind
            elif op.kind != "constant" and any(x in self.stored for x in op.results):
                yield op, "fusion"

    def peak(self, inner: Mapping[Operation, float], reusable: list[Array]) -> float:
        """Returns the most bytes in memory at a time, without the block's parameters.

        Args:
          inner: peaks within loops and branches.
          reusable: parameters whose memory may hold results after their last use.
        """
        kernels = [op for op, _ in self.kernels()]
        last: dict[Array, int] = {}
        for number, op in enumerate(kernels):
            last.update(dict.fromkeys([*self.sources(op), *self.captured.get(op, ())], number))
        last.update(dict.fromkeys(self.block.results, len(kernels)))
        dying, unused = collections.defaultdict(list), collections.defaultdict(list)
        for x in self.own.intersection(last).difference(self.block.params):
            dying[last[x]].append(x.num_bytes)
        for x in reusable:
            unused[last.get(x, 0)].append(x.num_bytes)
        free: list[float] = []  # memory of parameters
        now = peak = 0.0
        for number, op in enumerate(kernels):
            is_in_place = op.kind in _IN_PLACE_KINDS or op.kind not in _KERNEL_KINDS
            free += unused[number] if is_in_place else []
            for x in op.results:
                if is_in_place and x.num_bytes in dying[number]:
                    dying[number].remove(x.num_bytes)
                elif x.num_bytes in free:
                    free.remove(x.num_bytes)
                else:
                    now += x.num_bytes
            peak = max(peak, now + inner.get(op, 0.0))
            now -= sum(dying[number])
            free += [] if is_in_place else unused[number]
        return peak


def _largest_read(op: Operation) -> float:
    """Returns the most bytes that an operation can read from one source of its first operand."""
    operand, result = op.operands[0], op.results[0]
    if op.kind in ("slice", "dynamic_slice"):
        return result.num_bytes
    if op.kind != "gather":
        return math.inf
    sizes = list(op.attributes["slice_sizes"])
    run = operand.num_bytes / max(math.prod(operand.shape), 1)  # bytes that lie together
    for size, full in zip(reversed(sizes), reversed(operand.shape), strict=True):
        run *= size
        if size != full:
            break
    runs = result.num_bytes / run
    return runs * SECTOR_BYTES * math.ceil(run / SECTOR_BYTES)


def written(op: Operation) -> float:
    """Returns the bytes that an operation writes, less those of an operand it does not read."""
    if op.kind == "dynamic_update_slice":
        return op.operands[1].num_bytes - op.operands[0].num_bytes  # in place
    if op.kind == "scatter":
        entries = math.prod(op.operands[-1].shape)
        return entries * SECTOR_BYTES * 2 - op.operands[0].num_bytes
    return sum(x.num_bytes for x in op.results)
