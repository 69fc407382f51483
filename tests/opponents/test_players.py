import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.builders import random_games

from azo.games import othello, tictactoe
from azo.networks import initial_variables, network
from azo.opponents import players
from azo.search import improvement

OTHELLO4 = othello.Othello(4)
TIC_TAC_TOE = tictactoe.TicTacToe()
SMALL = network.NetworkConfig(kind="residual", num_blocks=1, num_channels=4, value_units=4)
PLAYERS = ["random", "greedy", "rollouts:3", "policy:here", "network:here:3"]


@functools.cache
def trained(game=OTHELLO4):
    return players.NetworkPlayer(
        game=game,
        variables=initial_variables.init(game, SMALL, jax.random.key(0)),
        network_config=SMALL,
        search_config=improvement.SearchConfig(num_simulations=5),
    )


@pytest.fixture(autouse=True)
def folders(monkeypatch, tmp_path):
    """Every folder holds a network, but those called missing; returns the ones that are loaded."""
    loaded = []

    def load(path, game):
        loaded.append(str(path))
        return trained(game)

    monkeypatch.setattr(players, "load_network", load)
    find = lambda path: path if "missing" in str(path) else tmp_path  # noqa: E731
    monkeypatch.setattr(players.shipped_files, "find_network", find)
    return loaded


@pytest.mark.thorough
@pytest.mark.parametrize(
    "game",
    [pytest.param(OTHELLO4, marks=pytest.mark.slow), TIC_TAC_TOE],
    ids=lambda game: game.name,
)
@pytest.mark.parametrize("text", PLAYERS)
def test_every_player_plays_legal_moves(game, text):
    player = players.parse(text, game)
    for num_plies in (0, 3, 6):
        position = random_games.positions(game, num_plies, 16)
        action = jax.jit(lambda player, *args: player(*args))(player, jax.random.key(0), position)
        assert action.shape == (16,)
        assert action.dtype == jnp.int32
        legal = np.asarray(game.legal_mask(position))
        assert legal[np.arange(16), action].all()


def test_a_players_name_gives_its_kind_network_and_simulations():
    parse = functools.partial(players.parse, game=OTHELLO4)
    for name in ("random", "greedy"):
        assert parse(name) == players.BaselinePlayer(name, OTHELLO4)
    assert parse("rollouts:70").search_config.num_simulations == 70
    own = trained().search_config
    assert parse("runs/one").search_config == parse("network:runs/one").search_config == own
    assert parse("policy:runs/one").search_config is None
    searching = own.model_copy(update={"num_simulations": 9})
    assert parse("network:runs/one:9").search_config == searching


def test_the_path_of_a_checkpoint_may_hold_colons(folders):
    texts = ["runs/a", "policy:runs/a", "network:runs/a:30"]
    for text in (*texts, "network:C:runs/a:30", "network:C:runs/a", "C:runs/a"):
        players.parse(text, OTHELLO4)
    assert folders == ["runs/a"] * 3 + ["C:runs/a"] * 3


@pytest.mark.parametrize(
    "text",
    ["rollouts", "rollouts:many", "rollouts:0", "missing", "policy:missing", "network:missing:1"],
)
def test_the_message_of_a_wrong_player_says_what_would_work(text):
    message = f"unknown player '{text}'.*rollouts:100"
    if text.startswith("rollouts"):
        message = f"player '{text}': .* whole number from 1 to 32766"
    with pytest.raises(ValueError, match=message):
        players.parse(text, OTHELLO4)
