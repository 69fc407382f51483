"""Openings of tournaments: different, undecided, or from a file."""

import functools

import jax
import pytest
from support.drivers.refusals import message_of

from azo.games import notation, othello
from azo.games.host import live_game
from azo.matches.tournament import openings


def test_random_openings_are_different_and_leave_the_game_open():
    game = othello.Othello(4)
    draw = functools.partial(openings.random, game, jax.random.key(1), is_distinct=True)
    drawn = draw(count=20, plies=4)
    assert len(set(drawn)) == 20
    for actions in drawn:
        text = notation.transcript(actions, 4, has_passes=True)
        assert not live_game.replay(text, game).is_over
    assert drawn == draw(count=20, plies=4)
    message = message_of(draw, count=50, plies=1)
    assert "only 4 different openings of 1 random ply leave othello4" in message


def draw(path, count):
    return openings.from_file(path, othello.Othello(), jax.random.key(0), count=count)


def test_a_file_gives_different_openings(tmp_path):
    path = tmp_path / "openings.txt"
    path.write_text("f5d6c4\n\nf5f6e6f4\nf5d6c4\n")
    drawn = draw(path, 2)
    assert {notation.transcript(actions, 8) for actions in drawn} == {"f5d6c4", "f5f6e6f4"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f5d6c4\nf5f6e6f4\nf5d6c4\n", "2 different openings, but 3 are needed: add lines"),
        ("f5d6c4\nf5f5\n", "record 2: illegal move 'f5' at ply 2"),
        ("e6f4e3f6g5d6e7f5c5\n", "the game is over after the opening e6f4e3f6g5d6e7f5c5"),
    ],
)
def test_too_few_illegal_or_finished_openings_of_a_file_are_refused(tmp_path, text, message):
    path = tmp_path / "openings.txt"
    path.write_text(text)
    assert message_of(draw, path, 3).startswith(f"{path}: {message}")
