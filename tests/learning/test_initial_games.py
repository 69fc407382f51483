"""Starts of new games: random openings, and games spread over all plies."""

import jax
import numpy as np
import pytest
from support.builders import tiny_run

from azo.games import othello, tictactoe
from azo.learning import initial_games
from azo.learning.options import adjudication


def test_an_opening_that_would_end_the_game_is_not_played():
    game = tictactoe.TicTacToe()
    games = initial_games.new_games(game, jax.random.key(0), 200, max_opening_plies=9)
    assert not game.is_over(games.position).any()
    assert games.ply.max() > 4


@pytest.mark.parametrize(
    ("size", "minimum", "maximum", "empties"), [(6, 0, 5, 0), (6, 3, 5, 0), (8, 0, 40, 10)]
)
def test_new_games_begin_after_so_many_random_plies(size, minimum, maximum, empties):
    game = othello.Othello(size)
    sections = {
        "game": {"name": "othello", "size": size},
        "endings": {"adjudicate_empties": empties},
        "replay": {"capacity": 4096},
    }
    games = initial_games.new_games(
        game,
        jax.random.key(0),
        4000,
        min_opening_plies=minimum,
        max_opening_plies=maximum,
        options=[adjudication.Adjudication(game, tiny_run.settings(**sections))] if empties else [],
    )
    assert not game.is_over(games.position).any()
    num_empties, ply = np.asarray(game.num_empties(games.position)), np.asarray(games.ply)
    assert num_empties.min() > empties
    is_early = ply <= 5  # without passes
    np.testing.assert_array_equal((num_empties + ply)[is_early], size**2 - 4)
    counts = np.bincount(ply, minlength=maximum + 1)
    np.testing.assert_array_equal(counts[:minimum], 0)
    expected = 4000 / (maximum + 1 - minimum)
    assert np.abs(counts[minimum:] - expected).max() < 6 * np.sqrt(expected)
