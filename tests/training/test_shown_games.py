"""Games of a run for those who watch it."""

import jax.numpy as jnp
from support.builders import random_games

from azo.games import othello, tictactoe
from azo.learning import trajectories
from azo.training import shown_games

FOUR = othello.Othello(4)


def test_the_first_games_are_shown_by_colour(tmp_path):
    game = othello.Othello(6)
    position = random_games.positions(game, 5, 14)
    games = trajectories.GamesInProgress(position, jnp.full(14, 5, jnp.int32), {})
    shown_games.write(tmp_path, game, games, 3)
    seen = shown_games.read(tmp_path)
    assert seen.iteration == 3
    assert len(seen.boards) == shown_games.NUM_GAMES
    squares = random_games.texts(position, 6, is_black_to_move=False)
    assert seen.boards[1] == f"{squares[1]} O"


def test_another_game_a_missing_folder_and_a_damaged_file_show_no_boards(tmp_path):
    for game, folder in ((tictactoe.TicTacToe(), tmp_path), (FOUR, tmp_path / "missing")):
        games = trajectories.GamesInProgress(game.start(2), jnp.zeros(2, jnp.int32), {})
        shown_games.write(folder, game, games, 1)
        assert shown_games.read(folder).boards == ()
    (tmp_path / shown_games.FILE).write_text("{")
    assert shown_games.read(tmp_path).boards == ()
