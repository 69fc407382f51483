"""Parameters of which make test tries the first, and CI all."""

from collections.abc import Sequence
from typing import Any

import pytest


def after_first(values: Sequence[Any]) -> list[Any]:
    """Returns parameters, all of them but the first marked thorough."""
    first, *others = values
    return [first, *(pytest.param(value, marks=pytest.mark.thorough) for value in others)]
