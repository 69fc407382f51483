"""Openings of tournaments: different, undecided, or from a file."""

import jax
import numpy as np
import pytest

from azo.games import notation, othello, replaying
from azo.measure import arena, players
from azo.measure.tournament import openings


def write(folder, text, name="cup.toml"):
    path = folder / name
    path.write_text(text)
    return path


def test_random_openings_are_different_and_leave_the_game_open():
    game = othello.Othello(4)
    drawn = openings.at_random(game, jax.random.key(1), count=20, plies=4)
    assert len(set(drawn)) == 20
    for actions in drawn:
        text = notation.transcript(actions, 4, has_passes=True)
        assert not replaying.replay(text, game).is_over
    assert drawn[:5] == openings.at_random(game, jax.random.key(1), count=20, plies=4)[:5]
    with pytest.raises(ValueError) as error:
        openings.at_random(game, jax.random.key(1), count=50, plies=1)
    assert "othello4 gave only 4 different openings of 1 random plies" in str(error.value)


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


def test_both_games_of_a_pair_begin_with_the_opening():
    game = othello.Othello(4)
    random = players.RandomPlayer(game)
    drawn = openings.at_random(game, jax.random.key(1), count=6, plies=3)
    starts = openings.positions_after(game, drawn)
    games = arena.play_games(
        game, random, random, jax.random.key(0), num_games=12, opening_plies=3, openings=starts
    )
    played = [tuple(row) for row in np.asarray(games.actions[:3]).T.tolist()]
    assert played == [*drawn, *drawn]


def test_a_match_needs_openings_of_one_length():
    game = othello.Othello(4)
    drawn = [openings.at_random(game, jax.random.key(1), count=1, plies=n)[0] for n in (2, 3)]
    with pytest.raises(ValueError, match="openings of 2 to 3 plies: a match needs"):
        openings.positions_after(game, drawn)
