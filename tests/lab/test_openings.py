"""Openings of tournaments: different, undecided, or from a file."""

import functools

import jax
import pytest

from azo.games import notation, othello, replaying
from azo.lab.tournament import openings


def write(folder, text, name):
    (folder / name).write_text(text)
    return folder / name


def test_random_openings_are_different_and_leave_the_game_open():
    game = othello.Othello(4)
    draw = functools.partial(openings.random, game, jax.random.key(1), is_distinct=True)
    drawn = draw(count=20, plies=4)
    assert len(set(drawn)) == 20
    for actions in drawn:
        text = notation.transcript(actions, 4, has_passes=True)
        assert not replaying.replay(text, game).is_over
    assert drawn == draw(count=20, plies=4)
    with pytest.raises(ValueError) as error:
        draw(count=50, plies=1)
    assert "only 4 different openings of 1 random plies leave othello4" in str(error.value)


def test_openings_of_a_file(tmp_path):
    game = othello.Othello()
    path = write(tmp_path, "f5d6c4\n\nf5f6e6f4\nf5d6c4\n", "openings.txt")
    drawn = openings.from_file(path, game, jax.random.key(0), count=2)
    assert {notation.transcript(actions, 8) for actions in drawn} == {"f5d6c4", "f5f6e6f4"}
    with pytest.raises(ValueError) as error:
        openings.from_file(path, game, jax.random.key(0), count=3)
    assert str(error.value) == f"{path}: 2 different openings, but 3 are needed: add lines"
    bad = write(tmp_path, "f5d6c4\nf5f5\n", "bad.txt")
    with pytest.raises(ValueError) as error:
        openings.from_file(bad, game, jax.random.key(0), count=2)
    assert str(error.value).startswith(f"{bad}: record 2: illegal move 'f5' at ply 2")
    wiped_out = write(tmp_path, "e6f4e3f6g5d6e7f5c5\n", "over.txt")
    with pytest.raises(ValueError) as error:
        openings.from_file(wiped_out, game, jax.random.key(0), count=1)
    expected = f"{wiped_out}: the game is over after the opening e6f4e3f6g5d6e7f5c5"
    assert str(error.value) == expected
