import sys

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.fakes import fake_engines
from support.references import slow_board

from azo.games import othello, protocol, tictactoe
from azo.matches import arena
from azo.matches.tournament import backends, openings
from azo.opponents import engine_protocols, players

OTHELLO4 = othello.Othello(4)
OTHELLO6 = othello.Othello(6)
TIC_TAC_TOE = tictactoe.TicTacToe()
NUM_TRACES = []


@flax.struct.dataclass
class PreferencePlayer:
    """Plays the legal action that it likes best."""

    preference: jax.Array  # [A] float32
    game: protocol.Game = flax.struct.field(pytree_node=False)

    def __call__(self, key, position):
        NUM_TRACES.append(1)
        legal = self.game.legal_mask(position)
        return jnp.argmax(jnp.where(legal, self.preference[None], -jnp.inf), axis=-1)


def fickle(game, seed):
    preference = np.random.default_rng(seed).random(game.num_actions)
    return PreferencePlayer(jnp.asarray(preference, jnp.float32), game)


def lowest(game):
    return PreferencePlayer(-jnp.arange(game.num_actions, dtype=jnp.float32), game)


def highest(game):
    return PreferencePlayer(jnp.arange(game.num_actions, dtype=jnp.float32), game)


def match(game, first, second, *, seed=0, num_games=64, opening_plies=4):
    settings = {"num_games": num_games, "opening_plies": opening_plies}
    return arena.play_match(game, first, second, jax.random.key(seed), **settings)


def recorded(game, first, second, *, seed=0, **settings):
    return arena.play_games(game, first, second, jax.random.key(seed), **settings)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("game", "opening_plies"), [(OTHELLO4, 2), (OTHELLO6, 3), (TIC_TAC_TOE, 2)]
)
def test_exchanging_the_players_exchanges_wins_and_losses(game, opening_plies):
    one, other = fickle(game, 1), fickle(game, 2)
    result = match(game, one, other, opening_plies=opening_plies)
    mirrored = match(game, other, one, opening_plies=opening_plies)
    assert result.num_games == 64
    assert result.wins != result.losses  # or the comparison says little
    assert result.flipped.counts == mirrored.counts


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("size", "is_reversed", "opening_plies"), [(4, True, 0), (4, False, 3), (6, False, 4)]
)
def test_games_replayed_in_plain_python_have_the_same_moves_and_results(
    size, is_reversed, opening_plies
):
    game = othello.Othello(size, is_reversed)
    for record in recorded(
        game, lowest(game), highest(game), num_games=8, opening_plies=opening_plies
    ):
        board = slow_board.start(size)
        for ply, action in enumerate(record.actions):
            legal = slow_board.legal_actions(board)
            mover = (record.black, record.white)[ply % 2]
            if ply < opening_plies or legal == [game.pass_action]:
                assert action in legal
            else:
                assert action == (min(legal) if mover == "first" else max(legal))
            board = slow_board.play(board, int(action))
        assert slow_board.is_over(board)
        result = slow_board.result(board, is_reversed=is_reversed)
        assert record.result == result * (-1) ** len(record.actions)


def test_openings_are_played_twice_and_differ_from_one_another():
    random = players.BaselinePlayer("random", OTHELLO6)
    first, again, other = (
        recorded(OTHELLO6, random, random, num_games=256, opening_plies=6, seed=seed)
        for seed in (0, 0, 1)
    )
    starts = [game.actions[:6] for game in first]
    assert starts[::2] == starts[1::2]
    # Over 10,000 openings of six plies: hardly one in 128 comes twice.
    assert len(set(starts)) > 120
    assert all(a.actions != b.actions for a, b in zip(first[::2], first[1::2], strict=True))
    assert [game.actions for game in again] == [game.actions for game in first]
    assert [game.actions for game in other] != [game.actions for game in first]


def test_a_second_match_with_other_arrays_is_not_traced_again():
    match(OTHELLO4, lowest(OTHELLO4), highest(OTHELLO4), num_games=10)
    num_traces = len(NUM_TRACES)
    match(OTHELLO4, highest(OTHELLO4), lowest(OTHELLO4), num_games=10, seed=1)
    assert len(NUM_TRACES) == num_traces


@pytest.mark.slow
def test_players_replicated_over_all_devices_play_the_same_match():
    mesh = jax.make_mesh((len(jax.devices()),), ("data",))
    everywhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    one, other = lowest(OTHELLO4), highest(OTHELLO4)
    expected = match(OTHELLO4, one, other)
    assert match(OTHELLO4, jax.device_put(one, everywhere), other) == expected


def test_both_games_of_a_pair_begin_with_the_opening_that_is_given():
    random, key = players.BaselinePlayer("random", OTHELLO4), jax.random.key(1)
    (one,), (other,) = (openings.random(OTHELLO4, key, count=1, plies=plies) for plies in (2, 3))
    games = recorded(OTHELLO4, random, random, num_games=4, opening_plies=0, drawn=[one, other])
    starts = [game.actions[: game.opening_plies] for game in games]
    assert starts == [one, one, other, other]


def fake_engine(*arguments, program=sys.executable):
    return fake_engines.config(program, fake_engines.FAKES / "fake_gtp.py", *arguments)


def against(engine):
    game = othello.Othello()
    greedy = players.BaselinePlayer("greedy", game)
    engine = backends.external(engine, game)
    return match(game, greedy, engine, num_games=4, opening_plies=8)


@pytest.mark.thorough
def test_a_match_with_an_engine_can_be_repeated_and_the_engine_loses_where_it_fails():
    result = against(fake_engine("play"))
    assert (result.num_games, sum(result.pair_scores)) == (4, 2)
    assert against(fake_engine("play")) == result
    result = against(fake_engine("say", "A1"))
    assert (result.wins, result.losses) == (4, 0)
    with pytest.raises(engine_protocols.EngineError, match="fake"):
        against(fake_engine(program="false"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        *(({"num_games": n}, f"num_games is {n}, but .* pairs") for n in (0, 7)),
        *(
            ({"num_games": 2, "opening_plies": n}, f"openings of {n} random plies .* othello4")
            for n in (-1, 24)
        ),
    ],
)
def test_a_match_needs_pairs_of_games_and_openings_that_decide_nothing(settings, message):
    random = players.BaselinePlayer("random", OTHELLO4)
    with pytest.raises(ValueError, match=message):
        match(OTHELLO4, random, random, **settings)
