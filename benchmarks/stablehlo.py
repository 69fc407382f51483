"""Reads a StableHLO module as operations on arrays, with all calls inlined.

Functions, branches that are known in advance, and the regions of `shard_map` are replaced by their
operations. Loops and other branches keep theirs in blocks.
"""

import collections
import dataclasses
import functools
import math
import re
from typing import Any

_DTYPE_BITS = {"i1": 8, "bf16": 16, "f16": 16}


@dataclasses.dataclass(eq=False)
class Array:
    """An array of the program: its type, and the operation that makes it."""

    shape: tuple[int, ...]
    dtype: str
    producer: "Operation | None" = None
    number: int | None = None  # of an integer constant
    is_uniform: bool = False  # a constant of equal entries, which needs no memory

    @functools.cached_property
    def num_bytes(self) -> float:
        """Bytes in memory."""
        bits = _DTYPE_BITS.get(self.dtype) or int(re.sub(r"\D", "", self.dtype) or 0)
        return math.prod(self.shape) * bits / 8


@dataclasses.dataclass(eq=False)
class Operation:
    """An operation that is not inlined."""

    kind: str  # name without its dialect
    scope: str
    operands: list[Array]
    results: list[Array]
    attributes: Any
    blocks: "list[Block]"


@dataclasses.dataclass(eq=False)
class Block:
    """The body of the program, of a loop or of a branch; it may use arrays from outside."""

    params: list[Array]
    operations: list[Operation]
    results: list[Array]


class Reader:
    """Reads one module."""

    def __init__(self, module: Any):
        functions = {
            op.attributes["sym_name"].value: op
            for op in module.body.operations
            if op.operation.name == "func.func"
        }
        self.functions = {name: op.regions[0].blocks[0] for name, op in functions.items()}
        self.operations: collections.Counter[str] = collections.Counter()
        self.dtypes: set[str] = set()
        self.custom_calls: set[str] = set()
        self.main = self.block(self.functions["main"], {}, "")
        self.donated = [
            array
            for array, is_donated in zip(
                self.main.params, _are_donated(functions["main"]), strict=True
            )
            if is_donated
        ]

    def array(self, value: Any, producer: Operation | None = None) -> Array:
        """Returns the array of an MLIR value."""
        shape, dtype = _type(str(value.type))
        self.dtypes.add(dtype)
        return Array(shape, dtype, producer)

    def block(self, block: Any, names: dict[Any, Array], scope: str) -> Block:
        """Returns an MLIR block; `names` are the arrays outside it."""
        params = [self.array(value) for value in block.arguments]
        names = names | dict(zip(block.arguments, params, strict=True))
        operations: list[Operation] = []
        results = self.inline(block, names, scope, operations)
        return Block(params, operations, results)

    def inline(
        self, block: Any, names: dict[Any, Array], scope: str, into: list[Operation]
    ) -> list[Array]:
        """Appends a block's operations, and returns its results."""
        for op in block.operations:
            kind = op.operation.name.split(".")[-1]
            operands = [names[value] for value in op.operands]
            if kind == "return":
                return operands
            here = f"{scope}/{getattr(op.location, 'name_str', None) or ''}"
            inner = self.inlined_block(op, kind, operands)
            if inner is not None:
                given = names if kind == "case" else {}
                given = given | dict(zip(inner.arguments, operands, strict=False))
                results = self.inline(inner, given, here, into)
                names.update(zip(op.results, results, strict=True))
                continue
            operation = Operation(kind, here, operands, [], op.attributes, [])
            operation.results = [self.array(value, operation) for value in op.results]
            names.update(zip(op.results, operation.results, strict=True))
            if kind == "constant":
                _note_constant(op, operation.results[0])
            self.operations[kind] += 1
            if kind == "custom_call":
                self.custom_calls.add(op.attributes["call_target_name"].value)
            if kind in ("while", "case"):
                operation.blocks = [self.block(r.blocks[0], names, here) for r in op.regions]
            into.append(operation)
        return []

    def inlined_block(self, op: Any, kind: str, operands: list[Array]) -> Any:
        """Returns the block that takes the place of a call or of a branch known in advance."""
        if kind == "call":
            return self.functions[op.attributes["callee"].value]
        if kind == "manual_computation":
            return op.regions[0].blocks[0]
        if kind == "case" and (len(op.regions) == 1 or operands[0].number is not None):
            number = 0 if len(op.regions) == 1 else operands[0].number
            return op.regions[min(number, len(op.regions) - 1)].blocks[0]
        return None


def _are_donated(main: Any) -> list[bool]:
    """Returns which arguments of a program may be overwritten by its results."""
    num_arguments = len(main.regions[0].blocks[0].arguments)
    if "arg_attrs" not in main.attributes:
        return [False] * num_arguments
    names = ("tf.aliasing_output", "jax.buffer_donor")
    return [any(name in entry for name in names) for entry in main.attributes["arg_attrs"]]


@functools.cache
def _type(text: str) -> tuple[tuple[int, ...], str]:
    match = re.fullmatch(r"tensor<((?:\d+x)*)([\w.!<>]+?)(?:, .*)?>", text)
    if match is None:
        return (), "token"
    return tuple(int(x) for x in match.group(1).split("x")[:-1]), match.group(2)


def _note_constant(op: Any, array: Array) -> None:
    value = op.attributes["value"]
    array.is_uniform = bool(getattr(value, "is_splat", False))
    if not array.shape and re.fullmatch(r"u?i\d+", array.dtype):
        text = re.search(r"dense<(-?\d+)>", str(value))
        array.number = int(text[1]) if text else None
