"""Short texts of objects that hold many numbers, for people at a prompt."""

import dataclasses
from typing import Any


def short(value: Any) -> str:
    """Returns an object with the types and shapes of its arrays in place of their entries."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{value.dtype}[{','.join(map(str, value.shape))}]"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = (f"{f.name}={short(getattr(value, f.name))}" for f in dataclasses.fields(value))
        return f"{type(value).__name__}({', '.join(parts)})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name!r}: {short(x)}' for name, x in value.items())}}}"
    if isinstance(value, list | tuple) and len(value) > 4:
        return f"{type(value).__name__} of {len(value)}"
    return repr(value)
