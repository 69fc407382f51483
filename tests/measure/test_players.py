import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from azo.games import othello, tictactoe
from azo.learning import network
from azo.measure import arena, players
from azo.search import improvement

OTHELLO4 = othello.Othello(4)
TIC_TAC_TOE = tictactoe.TicTacToe()
SMALL = network.NetworkConfig(num_blocks=1, num_channels=4, value_units=4)
PLAYERS = ["random", "greedy", "rollouts:3", "policy:here", "network:here:3", "here"]


@functools.cache
def trained(game=OTHELLO4, seed=0, algorithm="gumbel"):
    return players.NetworkPlayer(
        game=game,
        variables=network.init(game, SMALL, jax.random.key(seed)),
        network_config=SMALL,
        search_config=improvement.SearchConfig(algorithm=algorithm, num_simulations=5),
    )


def load(path, game=OTHELLO4):
    if "missing" in path:
        raise FileNotFoundError("no such folder")
    return trained(game)


def random_positions(game, num_games, num_plies):
    """Positions after `num_plies` random plies, where the games go on."""
    openings = arena.draw_openings(game, jax.random.key(7), num_games, num_plies)
    return openings.position


@pytest.mark.parametrize(
    "game",
    [pytest.param(OTHELLO4, marks=pytest.mark.slow), TIC_TAC_TOE],
    ids=lambda game: game.name,
)
@pytest.mark.parametrize("text", PLAYERS)
def test_every_player_plays_legal_moves(game, text):
    player = players.parse(text, game, functools.partial(load, game=game))
    for num_plies in (0, 3, 6):
        position = random_positions(game, 16, num_plies)
        action = jax.jit(lambda player, *args: player(*args))(
            player, jax.random.key(0), position, jnp.int32(num_plies)
        )
        assert action.shape == (16,)
        assert action.dtype == jnp.int32
        legal = np.asarray(game.legal_mask(position))
        assert legal[np.arange(16), action].all()


@pytest.mark.slow
def test_the_policy_player_takes_the_legal_move_with_the_highest_logit():
    player = players.parse("policy:here", OTHELLO4, load)
    position = random_positions(OTHELLO4, 32, 5)
    net = network.build(OTHELLO4, SMALL)
    logits = np.asarray(
        jax.jit(net.apply)(trained().variables, OTHELLO4.planes(position)).prior_logits
    )
    legal = np.asarray(OTHELLO4.legal_mask(position))
    action = player(jax.random.key(0), position, jnp.int32(5))
    for row in range(32):
        choices = np.flatnonzero(legal[row])
        assert action[row] == choices[np.argmax(logits[row, choices])]


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["gumbel", "puct"])
def test_network_players_do_not_depend_on_the_key(algorithm):
    player = players.with_simulations(trained(algorithm=algorithm), 6)
    position = random_positions(OTHELLO4, 32, 2)
    one, other = (player(jax.random.key(seed), position, jnp.int32(2)) for seed in (0, 1))
    np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_rollouts_find_the_winning_move_and_the_only_defence():
    # X has a row of two, then O has, with X to move: in both cases square 2 it must be.
    position = tictactoe.TicTacToePosition(
        player=jnp.array([0b000_000_011, 0b010_100_000], jnp.uint32),
        opponent=jnp.array([0b000_011_000, 0b000_000_011], jnp.uint32),
    )
    player = players.RolloutPlayer(TIC_TAC_TOE, players.rollout_config(200))
    action = player(jax.random.key(0), position, jnp.int32(4))
    np.testing.assert_array_equal(action, [2, 2])


@pytest.mark.slow
def test_rollouts_beat_random_moves():
    rollouts, random = (players.parse(text, OTHELLO4, load) for text in ("rollouts:20", "random"))
    result = arena.play_match(
        OTHELLO4, rollouts, random, jax.random.key(0), num_games=128, opening_plies=2
    )
    assert result.interval()[0] > 0.6


@pytest.mark.slow
@pytest.mark.parametrize("is_searching", [True, False], ids=["searching", "policy"])
def test_the_next_network_needs_no_new_compilation(is_searching):
    def player(seed):
        net = trained(seed=seed)
        if is_searching:
            return players.with_simulations(net, 2)
        return players.PolicyPlayer(net.variables, OTHELLO4, net.network_config)

    def play(seed):
        return arena.play_games(
            OTHELLO4,
            player(seed),
            players.RandomPlayer(OTHELLO4),
            jax.random.key(seed),
            num_games=4,
            opening_plies=2,
        )

    play(0)
    num_compiled = arena.play_games._cache_size()
    play(1)
    assert arena.play_games._cache_size() == num_compiled


def test_names_give_players():
    parse = functools.partial(players.parse, game=OTHELLO4, load=load)
    assert parse("random") == players.RandomPlayer(OTHELLO4)
    assert parse("greedy") == players.GreedyPlayer(OTHELLO4)
    assert parse("rollouts:70").search_config.num_simulations == 70
    assert isinstance(parse("policy:runs/one"), players.PolicyPlayer)
    assert parse("network:runs/one:9").search_config.num_simulations == 9
    assert parse("network:runs/one").search_config == trained().search_config
    assert parse("runs/one").search_config == trained().search_config


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("runs/a", "runs/a"),
        ("policy:runs/a", "runs/a"),
        ("network:runs/a:30", "runs/a"),
        ("network:C:runs/a:30", "C:runs/a"),
        ("network:C:runs/a", "C:runs/a"),
        ("C:runs/a", "C:runs/a"),
    ],
)
def test_the_path_of_a_checkpoint_may_hold_colons(text, path):
    paths = []

    def remember(path):
        paths.append(path)
        return trained()

    players.parse(text, OTHELLO4, remember)
    assert paths == [path]


def test_another_number_of_simulations_changes_nothing_else():
    config = improvement.SearchConfig(algorithm="puct", c_puct=3.5)
    player = dataclasses.replace(trained(), search_config=config)
    changed = players.with_simulations(player, 77).search_config
    assert changed.num_simulations == 77
    assert changed == config.model_copy(update={"num_simulations": 77})


@pytest.mark.parametrize("text", ["rollouts", "rollouts:", "rollouts:many", "rollouts:0"])
def test_rollouts_need_a_number(text):
    with pytest.raises(ValueError, match=f"player '{text}': .* whole number such as 100"):
        players.parse(text, OTHELLO4, load)


@pytest.mark.parametrize("text", ["missing", "policy:missing", "network:missing:10"])
def test_the_message_of_an_unknown_player_names_all_kinds(text):
    with pytest.raises(ValueError, match=f"unknown player '{text}'.*rollouts:100"):
        players.parse(text, OTHELLO4, load)


def test_settings_are_no_leaves_of_a_player():
    player = trained()
    assert len(jax.tree.leaves(player)) == len(jax.tree.leaves(trained().variables))
    assert jax.tree.leaves(players.RandomPlayer(OTHELLO4)) == []
    other = dataclasses.replace(player, game=othello.Othello(4, is_reversed=True))
    assert jax.tree.structure(player) != jax.tree.structure(other)
