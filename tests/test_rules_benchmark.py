"""The benchmark of the rules: a smoke run, and what it counts and compares."""

import jax
import numpy as np
import pytest

from azo.games import othello
from benchmarks import rules

pytestmark = pytest.mark.slow

TINY = rules.RulesConfig(batch=2, plies=3, repeats=2, with_pgx=False)


def test_report_has_a_row_for_each_program_and_says_that_pgx_was_left_out():
    text = "\n".join(rules.report(TINY))
    assert "| azo 8x8, step only |" in text
    assert "| azo 6x6, random play |" in text
    assert "Pgx was left out" in text


def test_replaying_recorded_actions_gives_the_checksum_of_the_random_play():
    game = othello.Othello(4)
    start = game.start(8)
    keys = jax.random.split(jax.random.key(0), 30)
    actions, played = jax.jit(rules.azo_random_play, static_argnums=0)(game, start, keys)
    assert num_ends(game, start, actions) >= 2 * 8
    replays = (rules.azo_replay, rules.azo_replay_steps, lambda *a: rules.azo_replay_masks(*a)[0])
    for replay in replays:
        replayed = jax.jit(replay, static_argnums=0)(game, start, actions)
        np.testing.assert_array_equal(replayed, played)


def test_pgx_ends_as_many_games_as_azo_but_for_its_passes_at_the_end():
    pytest.importorskip("pgx")
    game = othello.Othello(8)
    batch, num_plies = 32, 256
    start = game.start(batch)
    keys = jax.random.split(jax.random.key(0), num_plies)
    actions, _ = jax.jit(rules.azo_random_play, static_argnums=0)(game, start, keys)
    expected = num_ends(game, start, actions)
    assert expected >= 4 * batch
    with jax.numpy_rank_promotion("allow"):
        for name, contender in rules._pgx_contenders(batch, keys).items():
            total = np.asarray(contender.program.call()[-1])
            ended = int(np.round(total / rules.PGX_END).sum())
            assert abs(ended - expected) < batch, name


def num_ends(game: othello.Othello, start: othello.Position, actions: jax.Array) -> int:
    """Counts the games that end in a playout with restarts, outside any compiled loop."""
    position, count = start, 0
    step = jax.jit(game.step)
    for action in actions:
        done = step(position, action)
        is_last = done.discount == 0
        count += int(is_last.sum())
        position = rules._restart(is_last, start, done.position)
    return count
