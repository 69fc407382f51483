"""Messages about flags and files: one line, in words of the flags."""

import pytest

from azo.play import engine_factory
from azo.run import config


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--level 0", "level is 0, but should be greater than or equal to 1"),
        ("--engine.c-puct -1", "c_puct is -1.0, but should be greater than 0"),
        ("--engine.cache-positions 7", "cache_positions is 7, but should be a power of 2 or 0"),
        ("--learn", "--learn is for a book: give its file with --book"),
        ("--size x", "--size: not a whole number: 'x'"),
    ],
)
def test_a_wrong_flag_is_told_in_one_line(flags, message):
    with pytest.raises(ValueError) as error:
        config.parse_flags(engine_factory.PlayConfig, flags.split(), prog="play")
    assert str(error.value) == message
