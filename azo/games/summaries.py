"""Short texts of objects that hold many numbers, for people at a prompt."""

import dataclasses
from typing import Any

import jax

from azo.games import plurals


def short(value: Any) -> str:
    """Returns an object with the types and shapes of its arrays in place of their entries."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{value.dtype}[{','.join(map(str, value.shape))}]"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = (f"{f.name}={short(getattr(value, f.name))}" for f in dataclasses.fields(value))
        return f"{type(value).__name__}({', '.join(parts)})"
    if isinstance(value, dict | list | tuple):
        leaves = jax.tree.leaves(value)
        size = sum(getattr(x, "size", 1) for x in leaves)
        arrays, numbers = (
            plurals.counted(len(leaves), "array"),
            plurals.counted(size, "number", form=","),
        )
        return f"<{arrays}, {numbers}>"
    return repr(value)
