"""Types of settings with bounds, so that a wrong number is refused in one line.

Counts fit into 32 bits, as the compiled programs need. Bounds of shapes are far above what was ever
useful and far below what no machine can hold; the run compares the whole with the memory.
"""

from typing import Annotated

import pydantic

_LARGEST = 2**31 - 1
MAX_SIMULATIONS = 2**15 - 2  # nodes and actions are stored in 16 bits

PositiveInt = Annotated[int, pydantic.Field(gt=0, le=_LARGEST)]
NonNegativeInt = Annotated[int, pydantic.Field(ge=0, le=_LARGEST)]
LargeInt = Annotated[int, pydantic.Field(gt=0, le=2**53)]  # exact as a float too
Count = Annotated[int, pydantic.Field(ge=0, le=2**53)]  # of what has happened
Seed = Annotated[int, pydantic.Field(ge=0, lt=2**32)]
Games = Annotated[int, pydantic.Field(gt=0, le=2**20)]  # side by side; examples too
PairedGames = Annotated[int, pydantic.Field(ge=2, le=2**20, multiple_of=2)]
Simulations = Annotated[int, pydantic.Field(gt=0, le=MAX_SIMULATIONS)]
Plies = Annotated[int, pydantic.Field(ge=0, le=1000)]
Units = Annotated[int, pydantic.Field(gt=0, le=2**14)]  # channels too
Layers = Annotated[tuple[Units, ...], pydantic.Field(max_length=256)]  # units of each
Processes = Annotated[int, pydantic.Field(gt=0, le=4096)]

Finite = Annotated[float, pydantic.Field(allow_inf_nan=False)]
PositiveFloat = Annotated[float, pydantic.Field(gt=0, allow_inf_nan=False)]
NonNegativeFloat = Annotated[float, pydantic.Field(ge=0, allow_inf_nan=False)]
