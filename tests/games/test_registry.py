"""Settings that choose a game, and their messages."""

import pytest

from azo.games import bitboard, game_config, othello, registry, tictactoe


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "othello8"),
        ({"size": 6}, "othello6"),
        ({"size": 4, "is_reversed": True}, "othello4-reversed"),
        ({"name": "tictactoe"}, "tictactoe"),
    ],
)
def test_settings_choose_the_game(settings, name):
    assert registry.make(game_config.GameConfig(**settings)).name == name


def test_equal_settings_make_equal_games_so_that_nothing_compiles_twice():
    config = game_config.GameConfig(size=8)
    assert registry.make(config) == registry.make(config) == othello.Othello(8)
    assert hash(registry.make(config)) == hash(othello.Othello(8))
    for name in ("tictactoe", "azo.games.tictactoe:TicTacToe"):
        config = game_config.GameConfig(name=name)
        assert registry.make(config) is registry.make(config.model_copy())
        assert registry.make(config) == tictactoe.TicTacToe()


def test_a_start_position_is_seen_by_its_mover():
    start = "X----XO--OX----- O"
    position = registry.make(game_config.GameConfig(size=4, start=start)).start(1)
    opponent = 1 | 1 << (8 + 1) | 1 << (16 + 2)
    assert bitboard.to_ints(position.opponent) == [opponent]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"name": "tictactoe", "is_reversed": True}, "apply only to Othello"),
        ({"size": 4, "start": "XO"}, "2 squares, but a 4x4 board has 16"),
        (
            {"name": "othelo"},
            "should be 'othello', 'tictactoe', 'pgx:NAME', or an import path such",
        ),
        (
            {"name": "azo.games.game_config:GameConfig"},
            "it is not a game, which would have action_symmetries,",
        ),
        (
            {"name": "azo.games.protocol:Game"},
            "not a game, which would have board_shape, is_over, legal_mask",
        ),
        (
            {"name": "azo.games.protocol:Step"},
            "missing 3 required positional arguments: 'position'",
        ),
    ],
)
def test_contradicting_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        registry.make(game_config.GameConfig(**settings))
