"""Games of Pgx as games of azo: their rules step by step, and what is refused."""

import functools
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.drivers import refusals

import azo
from azo.games import game_config, registry


def made(name):
    return registry.make(game_config.GameConfig(name=f"pgx:{name}"))


refusal = functools.partial(refusals.message_of, made)


@pytest.mark.parametrize("name", ["backgammon", "2048", "kuhn_poker", "minatar-breakout", "ludo"])
def test_games_with_chance_secrets_or_one_player_are_refused(name):
    assert refusal(name).startswith(
        f"[game]: name is 'pgx:{name}', but azo plays those of Pgx with two players in turn,"
    )


def test_a_missing_pgx_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pgx", None)
    registry._make.cache_clear()
    assert refusal("hex").endswith('but Pgx is not installed: pip install "azo[pgx]"')


@pytest.mark.parametrize(
    "name",
    [
        "tic_tac_toe",
        pytest.param("connect_four", marks=pytest.mark.thorough),
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("hex", "othello", "go_9x9", "gardner_chess", "animal_shogi")
        ),
    ],
)
def test_a_game_keeps_the_protocol(name):
    pytest.importorskip("pgx")
    azo.check_game(made(name), num_games=2)


@pytest.mark.parametrize(
    "name",
    ["connect_four", *(pytest.param(x, marks=pytest.mark.slow) for x in ("hex", "gardner_chess"))],
)
def test_positions_are_those_of_pgx_at_every_ply(name):
    pgx = pytest.importorskip("pgx")
    game, env = made(name), pgx.make(name)
    with jax.numpy_rank_promotion("allow"):
        state = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(1), 4))
        step, ours = jax.jit(jax.vmap(env.step)), jax.jit(game.step)
        position = game.start(4)
        rng = np.random.default_rng(0)
        for _ in range(game.max_plies):
            over = np.asarray(state.terminated)
            np.testing.assert_array_equal(game.is_over(position), over)
            np.testing.assert_array_equal(game.planes(position), state.observation)
            legal = np.asarray(state.legal_action_mask)
            np.testing.assert_array_equal(
                np.asarray(game.legal_mask(position))[~over], legal[~over]
            )
            if over.all():
                break
            action = jnp.asarray([rng.choice(np.flatnonzero(row)) for row in legal])
            mover = np.asarray(state.current_player)
            state, after = step(state, action), ours(position, action)
            # Pgx rewards both players; azo's reward is that of the side that moved.
            reward = np.asarray(state.rewards)[np.arange(4), mover]
            np.testing.assert_array_equal(after.reward, reward)
            assert (np.asarray(state.current_player) != mover)[~over].all()
            position = after.position
        else:
            assert np.asarray(state.terminated).all()
