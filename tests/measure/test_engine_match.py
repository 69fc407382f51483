"""Matches against external engines, here a script."""

import sys

import jax
import pytest
from support.fake_engines import FAKES, GAME

from azo.measure import engine_protocols, external_engines, players
from azo.measure.tournament import engine_match


def fake(*arguments, program=sys.executable):
    command = (program, str(FAKES / "fake_gtp.py"), *arguments)
    return engine_protocols.ExternalEngineConfig(name="fake", command=command, protocol="gtp")


def play(engine, seed=0):
    player = players.GreedyPlayer(GAME)
    key = jax.random.key(seed)
    return engine_match.play(GAME, player, engine, key, num_games=4, opening_plies=8)


def test_every_opening_is_played_with_both_colours_and_a_match_can_be_repeated():
    result = play(fake("play"))
    assert result.num_games == 4
    assert sum(result.pair_scores) == 2
    assert play(fake("play")) == result


def test_an_engine_that_fails_in_its_games_loses_them():
    result = play(fake("say", "A1"))
    assert (result.wins, result.losses) == (4, 0)


def test_an_engine_that_fails_at_its_start_is_an_error():
    with pytest.raises(external_engines.EngineError, match="fake"):
        play(fake(program="false"))
