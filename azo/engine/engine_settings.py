"""Settings of the engine for live games, and playing levels."""

import dataclasses
import re
from typing import Annotated, ClassVar, Literal, NamedTuple

import pydantic

from azo.games import variant
from azo.settings import setting_types


@dataclasses.dataclass(frozen=True)
class Limits:
    """When a search ends; without a number or a time, only when it is stopped."""

    num_simulations: int | None = None
    seconds: float | None = None
    ends_early: bool = False  # on a clock: when no other move can catch the best one
    # Search for discs, also where the move is forced, and solve every move near the end.
    is_analysis: bool = False
    is_deep: bool = False  # of an analysis: long enough for marks


_WITH_SOLVER = setting_types.needs_other("solve_empties", 0)
_WITH_PUCT = setting_types.needs("search", "puct")
WITHOUT_PONDERING = {"engine.ponder": "azo ponders over GTP and NBoard"}
"""Reasons why settings have no effect in commands that never search in the opponent's time."""
ANALYSES_ALONE = WITHOUT_PONDERING | {
    "engine.search": "analyses use puct",
    "engine.score_share": "analyses maximise the final score",
    "engine.temperature": "analyses draw no moves",
}
"""The same for commands that play no moves."""


class EngineConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """How the engine searches for a move."""

    search: Literal["puct", "alphabeta"] = "puct"
    """How the engine at full strength finds its moves. puct: a tree search by the network.
    alphabeta: principal variation search by a linear evaluation in the network's folder, which
    zero-fast has (docs/play.md). Analyses and lower levels always use puct."""
    num_simulations: setting_types.PositiveInt | None = 400
    """Simulations per move, in addition to those in the reused tree; None: limited only by time.
    For each one, alphabeta searches 30 positions, which take about as long."""
    seconds: setting_types.PositiveFloat | None = None
    """Seconds per move, which replace the default of num_simulations. If both are given, the search
    ends at the first limit reached."""
    leaves_per_step: Annotated[int, pydantic.Field(ge=1, le=256)] = 4
    """Leaves that the network evaluates together."""
    c_puct: setting_types.PositiveFloat = 1.0
    """Weight of exploration in PUCT. Analyses use two fifths of it, because their values differ
    less."""
    score_share: Annotated[float, pydantic.Field(ge=0, lt=1)] = 0.0
    """Share of the final score in the value that the search for a move maximises. With 0 only the
    result counts, and the search gives no score. Analyses maximise the score."""
    prior_temperature: setting_types.PositiveFloat = 1.5
    """Temperature of the network's policy; above 1 flattens it."""
    exact_empties: Annotated[int, pydantic.Field(ge=0, le=10)] = 8
    """Solve leaves with at most this many empty squares; 0 disables it."""
    solve_empties: Annotated[int, pydantic.Field(ge=0, le=30)] = 23
    """Solve win, draw or loss when at most this many squares are empty; 0 disables it."""
    score_empties: Annotated[int, pydantic.Field(ge=0, le=30)] = 20
    """Solve the score, too, when at most this many squares are empty. Analyses solve no position
    with more empty squares."""
    solve_seconds: setting_types.PositiveFloat = 5.0
    """Time limit for solving, at most half the time for the move. Then the position is searched."""
    solve_nodes: setting_types.LargeInt | None = None
    """Node limit for solving, which makes the result independent of the machine's speed."""
    probe_nodes: setting_types.NonNegativeInt = 100_000
    """Node limit for proving a win, or for refuting the chosen move, when too many squares are
    empty to solve; 0 disables it. Analyses use it only to find early wipe-outs."""
    has_proofs: bool = True
    """Look ahead for the end of the game, and never search or play a move that is proven worse: by
    the result, or by the final score if `score_share` is above 0."""
    ponder: bool = False
    """Search while the opponent thinks, over GTP and NBoard."""
    temperature: setting_types.NonNegativeFloat = 0.0
    """Above 0, draw moves in proportion to visits to the power of 1 / temperature; 0: the best
    move."""

    LIMITS: ClassVar[tuple[str, ...]] = ("num_simulations", "seconds")
    NEEDS: ClassVar[setting_types.Table] = {
        "ponder": (_WITH_PUCT,),
        "score_empties": (_WITH_SOLVER,),
        "score_share": (_WITH_PUCT,),
        "solve_seconds": (_WITH_SOLVER,),
        "temperature": (_WITH_PUCT,),
    }

    def limits(self, *, is_analysis: bool = False) -> Limits:
        """Returns the limits of a move, or of an analysis."""
        return Limits(self.num_simulations, self.seconds, is_analysis=is_analysis)


def for_analysis(config: EngineConfig) -> EngineConfig:
    """Returns the settings of a search whose objective is the final score in discs.

    docs/notebook/puzzles.md has the errors of its scores, and of those of a search for the result.
    """
    # The rest of the value is the result, which decides between equal scores. Scores, divided by
    # the largest, differ less than results do, so they need less exploration.
    return config.model_copy(update={"score_share": 0.99, "c_puct": 0.4 * config.c_puct})


class _Level(NamedTuple):
    num_simulations: int
    temperature: float = 0.0
    num_empties: int = 0  # from which positions are solved


# Each level is meant to be 100 Elo above the one below it, with the 8x8 network that comes with azo
# and 20,000 simulations at full strength: docs/notebook/play-settings.md has what was measured. A
# level that draws its moves at random searches without proofs.
_LEVELS = (
    _Level(32, temperature=3.0),
    _Level(32, temperature=2.1),
    _Level(32, temperature=1.75),
    _Level(32, temperature=1.41),
    _Level(32, temperature=1.2),
    _Level(32, temperature=1.01),
    _Level(32, temperature=0.77, num_empties=2),
    _Level(32, temperature=0.57, num_empties=2),
    _Level(32, temperature=0.28, num_empties=4),
    _Level(34, num_empties=8),
    _Level(54, num_empties=8),
    _Level(84, num_empties=10),
    _Level(134, num_empties=12),
    _Level(240, num_empties=14),
    _Level(430, num_empties=14),
    _Level(800, num_empties=16),
    _Level(1_700, num_empties=18),
    _Level(3_400, num_empties=20),
    _Level(6_800, num_empties=22),
)
_NAMES = ("beginner", "novice", "casual", "improver", "club", "strong", "expert")
LEVEL_NAMES = (*(_NAMES[i // 3] for i in range(len(_LEVELS))), "full")
"""The name of level 1 first; three levels share a name."""
NUM_LEVELS = len(LEVEL_NAMES)
RATINGS = range(1400, 2401)
"""Of people whose play a level can have, see `people`."""
PEOPLE_RATINGS = RATINGS[::200]
"""Those whose chances an analysis has."""
_PEOPLE = f"human:{RATINGS[0]} to human:{RATINGS[-1]}, fitted to human games"
LEVELS = f"levels are 1 to {NUM_LEVELS}, and {_PEOPLE}"
_DRAWN_PRIOR_TEMPERATURE = 2.0  # above that of play: bad moves are tried and drawn


def parse_level(level: int | str) -> int | str:
    """Returns a level: a number from 1 to `NUM_LEVELS`, or a text such as "human:1800".

    Raises:
      ValueError: there is no such level.
    """
    if isinstance(level, str) and re.fullmatch(r"\d{1,9}", level, re.ASCII):
        level = int(level)
    is_known = rating_of(level) if isinstance(level, str) else 1 <= level <= NUM_LEVELS
    if not is_known:
        raise ValueError(f"level {level}: {LEVELS}")
    return level


_BOUNDS = {"type": "integer", "minimum": 1, "maximum": NUM_LEVELS}
Level = Annotated[
    int | str,
    pydantic.AfterValidator(parse_level),
    pydantic.WithJsonSchema({"anyOf": [_BOUNDS, {"type": "string"}]}),
]


def check_level(level: int | str, game: variant.Variant) -> int | str:
    """Returns a level; raises ValueError, one line, if a game has no such level."""
    level = parse_level(level)
    if rating_of(level) and not has_people(game):
        raise ValueError(f"level {level}: human levels exist only for 8x8, not for {game.name}")
    return level


def has_people(game: variant.Variant) -> bool:
    """Returns whether it is known how people play a game."""
    return (game.size, game.is_reversed) == (8, False)


def rating_of(level: int | str) -> int | None:
    """Returns the rating of the people that a level plays like, None for the other levels."""
    match = re.fullmatch(r"human:(\d{4})", str(level), re.ASCII)
    return int(match[1]) if match and int(match[1]) in RATINGS else None


def level_name(level: int | str) -> str:
    """Returns a level for people, such as "5 (novice)"."""
    return f"{level} ({LEVEL_NAMES[level - 1] if isinstance(level, int) else 'human-like'})"


def at_level(config: EngineConfig, level: int | str) -> EngineConfig:
    """Returns the settings of a level, at the highest number `config` itself.

    A level that plays like people does not search; ValueError if there is no such level.
    """
    level = parse_level(level)
    if level == NUM_LEVELS:
        return config
    if isinstance(level, str):
        changes = {
            "search": "puct",
            "num_simulations": 1,
            "leaves_per_step": 1,
            "probe_nodes": 0,
            "has_proofs": False,
        }
        return config.model_copy(update=changes | {"ponder": False, "solve_empties": 0})
    num_simulations, temperature, num_empties = _LEVELS[level - 1]
    prior_temperature = _DRAWN_PRIOR_TEMPERATURE if temperature else 0.0
    # A level never makes weak settings stronger.
    return config.model_copy(
        update={
            "search": "puct",
            "num_simulations": min(config.num_simulations or num_simulations, num_simulations),
            "leaves_per_step": 1,
            "ponder": False,
            "probe_nodes": 0,
            "has_proofs": config.has_proofs and not temperature,
            "temperature": max(config.temperature, temperature),
            "prior_temperature": max(config.prior_temperature, prior_temperature),
            "solve_empties": min(config.solve_empties, num_empties),
            "exact_empties": min(config.exact_empties, num_empties),
        }
    )
