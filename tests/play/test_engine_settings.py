"""Settings of the engine: levels."""

import pytest

from azo.play.engine import engine_settings
from azo.play.engine.engine_settings import EngineConfig


def test_levels_go_from_beginner_to_full():
    full = EngineConfig(num_simulations=1000)
    levels = [
        engine_settings.at_level(full, level) for level in range(1, engine_settings.NUM_LEVELS + 1)
    ]
    assert levels[-1] == full
    assert len(set(levels)) == len(levels)
    for name, is_falling in (
        ("num_simulations", False), ("solve_empties", False), ("temperature", True)
    ):  # fmt: skip
        values = [getattr(level, name) for level in levels]
        assert values == sorted(values, reverse=is_falling)
    assert engine_settings.LEVEL_NAMES[0] == "beginner"
    assert engine_settings.LEVEL_NAMES[-1] == "full"
    for level in (0, engine_settings.NUM_LEVELS + 1):
        with pytest.raises(ValueError, match=f"level {level}: levels are 1"):
            engine_settings.at_level(full, level)


def test_a_level_is_never_stronger_than_the_settings():
    weak = EngineConfig(num_simulations=20, solve_empties=3, exact_empties=2, temperature=0.6)
    weaker = engine_settings.at_level(weak, engine_settings.NUM_LEVELS - 1)
    assert (weaker.num_simulations, weaker.solve_empties, weaker.exact_empties) == (20, 3, 2)
    assert weaker.temperature == 0.6
    only_time = EngineConfig(num_simulations=None, seconds=5.0)
    assert engine_settings.at_level(only_time, 1).num_simulations == 32
