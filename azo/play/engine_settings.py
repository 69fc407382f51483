"""How a live game is played: the settings of the engine, and levels from beginner to full."""

import dataclasses
from typing import Annotated, Literal

import pydantic


class EngineConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """How the engine thinks about a move."""

    num_simulations: pydantic.PositiveInt | None = 400
    """Simulations a move, on top of what is kept of the tree; None: only time ends the search."""
    seconds: pydantic.PositiveFloat | None = None
    """Time a move; the limit that is reached first counts."""
    leaves_per_step: Annotated[int, pydantic.Field(ge=1, le=256)] = 4
    """Leaves of the tree that wait for one evaluation by the network."""
    virtual_loss: pydantic.NonNegativeFloat = 0.0
    """Losses that a leaf counts for until it is evaluated; a visit it counts as in any case."""
    c_puct: pydantic.PositiveFloat = 1.0
    """Weight of trying moves against Q."""
    prior_temperature: pydantic.PositiveFloat = 1.5
    """Above 1 the network's policy is flattened before the search uses it."""
    unvisited_value: Literal["parent", "draw", "loss"] = "parent"
    """What a move not yet tried is worth: its parent's value so far, 0 or -1."""
    symmetry: Literal["none", "average"] = "none"
    """The network sees a position once, or in all ways of turning and mirroring it."""
    cache_positions: Annotated[int, pydantic.Field(ge=0, le=2**24)] = 2**15
    """Evaluated positions that are kept, turned and mirrored ones as one; a power of 2 or 0."""
    exact_empties: Annotated[int, pydantic.Field(ge=0, le=10)] = 8
    """Leaves with at most so many empty squares are solved; 0: none."""
    solve_empties: Annotated[int, pydantic.Field(ge=0, le=30)] = 20
    """From so many empty squares on the position itself is solved; 0: never."""
    solve_seconds: pydantic.PositiveFloat = 5.0
    """When to give that up and search, at half of the time of the move at the latest."""
    move_choice: Literal["visits", "q"] = "visits"
    """Play the most visited move, or the one of highest Q among much visited ones."""
    temperature: pydantic.NonNegativeFloat = 0.0
    """Above 0 the move is drawn, by visits to the power of 1 / temperature."""

    @pydantic.field_validator("cache_positions")
    @classmethod
    def _check_power_of_two(cls, num_positions: int) -> int:
        if num_positions & (num_positions - 1):
            raise ValueError(f"cache_positions is {num_positions}, but should be a power of 2 or 0")
        return num_positions


@dataclasses.dataclass(frozen=True)
class Limits:
    """When to stop thinking; without a number or a time only when told to."""

    num_simulations: int | None = None
    seconds: float | None = None
    is_analysis: bool = False  # forced moves are searched too, and every move is solved


@dataclasses.dataclass(frozen=True)
class _Level:
    name: str
    num_simulations: int
    temperature: float
    prior_temperature: float  # flattened, so that bad moves are tried and drawn
    solve_empties: int


_LEVELS = (
    _Level("beginner", 6, 2.0, 10.0, 0),
    _Level("novice", 8, 1.0, 4.0, 0),
    _Level("casual", 12, 0.7, 2.5, 4),
    _Level("improver", 25, 0.5, 2.0, 6),
    _Level("club", 50, 0.3, 1.5, 8),
    _Level("strong", 100, 0.0, 1.5, 12),
    _Level("expert", 200, 0.0, 1.5, 16),
)
NUM_LEVELS = len(_LEVELS) + 1


def at_level(config: EngineConfig, level: int) -> EngineConfig:
    """Returns the settings of a level, 1 for beginners to `NUM_LEVELS`, which changes nothing.

    Raises:
      ValueError: there is no such level.
    """
    if not 1 <= level <= NUM_LEVELS:
        raise ValueError(f"level {level}: levels are 1 (beginner) to {NUM_LEVELS} (full)")
    if level == NUM_LEVELS:
        return config
    weaker = _LEVELS[level - 1]
    # Never stronger than the settings themselves, where those are weak.
    return config.model_copy(
        update={
            "num_simulations": min(
                config.num_simulations or weaker.num_simulations, weaker.num_simulations
            ),
            "leaves_per_step": 1,
            "temperature": max(config.temperature, weaker.temperature),
            "prior_temperature": max(config.prior_temperature, weaker.prior_temperature),
            "solve_empties": min(config.solve_empties, weaker.solve_empties),
            "exact_empties": min(config.exact_empties, weaker.solve_empties),
        }
    )


def level_name(level: int) -> str:
    """Returns what a level is called, such as "beginner"; `level` is one of them."""
    return "full" if level == NUM_LEVELS else _LEVELS[level - 1].name
