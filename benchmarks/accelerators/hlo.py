"""Reads the text of a compiled program: its loops, and what one turn of each costs.

A kernel is one launch on the device, such as a fusion, a library call or a copy.
On CUDA the host reads the condition of a loop without a known number of turns, and the choice of a
conditional, and waits for it. On a TPU the compiler estimates the cycles of each operation.
"""

import dataclasses
import math
import re
from collections.abc import Iterator

KERNELS = {
    "fusion", "custom-call", "copy", "sort", "scatter", "gather", "dot", "convolution", "reduce",
    "dynamic-update-slice", "dynamic-slice", "rng-bit-generator", "transpose", "select-and-scatter",
    "reduce-window", "pad", "concatenate", "iota", "broadcast", "slice", "convert", "compare",
    "select", "add", "subtract", "multiply", "divide", "maximum", "minimum",
}  # fmt: skip
COLLECTIVES = {
    "all-reduce", "all-reduce-start", "all-gather", "all-gather-start", "reduce-scatter",
    "all-to-all", "collective-permute", "collective-permute-start",
}  # fmt: skip
SCOPES = ("descent", "proofs", "rules", "evaluation", "endings")
_BYTES = {
    "pred": 1, "s8": 1, "u8": 1, "s16": 2, "u16": 2, "bf16": 2, "f16": 2, "s32": 4, "u32": 4,
    "f32": 4, "s64": 8, "u64": 8, "f64": 8,
}  # fmt: skip


@dataclasses.dataclass
class Operation:
    """One operation of a computation."""

    name: str
    kind: str
    line: str
    scope: str  # one of SCOPES, or "other"
    path: str  # where in the source it comes from
    cycles: int  # estimated by the compiler for a TPU, else 0
    num_bytes: int  # of its result and its arguments
    flops: int  # of convolutions and products of matrices


@dataclasses.dataclass
class Loop:
    """The program, the body of a loop or a branch; `loops` and `branches` are inside it."""

    path: str
    turns: int | None  # None if the data decide
    operations: list[Operation]
    loops: list["Loop"]
    branches: list["Loop"]

    def kernels(self, scope: str | None = None) -> list[Operation]:
        """Returns the kernels of one turn, without those of the loops and branches inside."""
        wanted = KERNELS | COLLECTIVES
        return [x for x in self.operations if x.kind in wanted and scope in (None, x.scope)]

    def num_host_reads(self) -> int:
        """Returns how many choices of one turn the host waits for, on CUDA."""
        return len(self.branches) + sum(loop.turns is None for loop in self.loops)

    def cycles(self, scope: str | None = None) -> int:
        """Returns the estimated cycles of one turn, without those of loops and branches inside."""
        return sum(x.cycles for x in self.operations if scope in (None, x.scope))

    def walk(self) -> Iterator["Loop"]:
        """Yields this loop and all that are inside it."""
        yield self
        for inner in (*self.loops, *self.branches):
            yield from inner.walk()


def read(text: str) -> Loop:
    """Returns the program of an optimised HLO text."""
    text = re.sub(r"/\*index=\d+\*/", "", text)
    bodies: dict[str, list[str]] = {}
    current = entry = ""
    for line in text.splitlines():
        if head := re.match(r"^(ENTRY )?%?([\w.\-]+) \(.*\{\s*$", line):
            current = head[2]
            bodies[current] = []
            entry = current if head[1] else entry
        elif line.startswith("}"):
            current = ""
        elif current and " = " in line:
            bodies[current].append(line.strip())
    return _loop(bodies, entry, "", 1)


def _loop(bodies: dict[str, list[str]], name: str, path: str, turns: int | None) -> Loop:
    shapes: dict[str, str] = {}
    loop = Loop(path, turns, [], [], [])
    for line in bodies.get(name, []):
        operation = _operation(line, shapes)
        shapes[operation.name] = _result(line)
        if operation.kind == "while":
            body = re.search(r" body=%?([\w.\-]+)", line)
            assert body is not None
            inner = _loop(bodies, body[1], operation.path, _turns(bodies, line))
            if inner.turns and operation.scope == "evaluation":  # the blocks of a tower
                loop.operations += inner.turns * inner.operations
            else:
                loop.loops.append(inner)
        elif operation.kind == "conditional":
            found = re.search(r"branch_computations=\{([^}]*)\}", line)
            pair = re.findall(r"(?:true|false)_computation=%?([\w.\-]+)", line)
            names = found[1].split(",") if found else pair
            inner = [_loop(bodies, x.strip().lstrip("%"), operation.path, 1) for x in names]
            largest = max(inner, key=lambda x: len(x.kernels()))
            loop.branches.append(largest)
        elif operation.kind in ("call", "async-start"):
            called = re.search(r"(?:to_apply|calls)=%?([\w.\-]+)", line)
            if called:
                inner_loop = _loop(bodies, called[1], operation.path, 1)
                loop.operations += inner_loop.operations
                loop.loops += inner_loop.loops
                loop.branches += inner_loop.branches
        else:
            loop.operations.append(operation)
    return loop


def _turns(bodies: dict[str, list[str]], line: str) -> int | None:
    """Returns the turns of a loop that counts to a constant, which TPUs state only there."""
    if known := re.search(r'known_trip_count":\{"n":"(\d+)"', line):
        return int(known[1])
    condition = re.search(r" condition=%?([\w.\-]+)", line)
    text = "\n".join(bodies.get(condition[1], [])) if condition else ""
    constants = dict(re.findall(r"%?([\w.\-]+) = s32\[\]\S* constant\((\d+)\)", text))
    counters = re.findall(r"%?([\w.\-]+) = s32\[\]\S* get-tuple-element", text)
    test = re.search(r"ROOT .* compare\(%?([\w.\-]+), %?([\w.\-]+)\), direction=LT", text)
    if test and test[1] in counters and test[2] in constants:
        return int(constants[test[2]])
    return None


def _operation(line: str, shapes: dict[str, str]) -> Operation:
    name = re.match(r"(?:ROOT )?%?([\w.\-]+) = ", line)
    kind = re.search(r" = (?:\([^=]*?\)|\S+) ([\w\-]+)\((.*)", line)
    path = re.search(r'op_name="([^"]*)"', line)
    cycles = re.search(r'estimated_cycles":"(\d+)"', line)
    arguments = re.findall(r"%([\w.\-]+)", kind[2].split("), ")[0]) if kind else []
    where = path[1] if path else ""
    operands = [shapes.get(x, "") for x in arguments]
    return Operation(
        name=name[1] if name else "",
        kind=kind[1] if kind else "",
        line=line,
        scope=next((x for x in SCOPES if f"/{x}/" in where), "other"),
        path=where,
        cycles=int(cycles[1]) if cycles else 0,
        num_bytes=_num_bytes(_result(line)) + sum(map(_num_bytes, operands)),
        flops=_flops(line, operands),
    )


def _result(line: str) -> str:
    found = re.search(r" = (\([^=]*?\)|\S+) [\w\-]+\(", line)
    return found[1] if found else ""


def _flops(line: str, operands: list[str]) -> int:
    """Returns the operations of a convolution or a product of matrices, else 0."""
    if len(operands) < 2 or not re.search(r"__cudnn\$conv|__cublas|convolution\(|dot\(", line):
        return 0
    result, first, second = (_sizes(shape) for shape in (_result(line), *operands[:2]))
    if "conv" in line.split("metadata")[0]:
        channels = result[-1]
        return 2 * math.prod(result) * math.prod(second) // max(channels, 1)
    return 2 * math.prod(result) * math.prod(first) // max(result[0], 1)


def _sizes(shape: str) -> list[int]:
    found = re.search(r"\w+\[([\d,]+)\]", shape)
    return [int(x) for x in found[1].split(",")] if found else [1]


def _num_bytes(shape: str) -> int:
    arrays = re.findall(r"(\w+)\[([\d,]*)\]", shape)
    return sum(
        _BYTES.get(kind, 0) * math.prod(int(x) for x in sizes.split(",") if x)
        for kind, sizes in arrays
    )
