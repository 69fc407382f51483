"""Starts of new games: random openings, and archived positions of earlier games."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import flat_games, made_plies, random_games

from azo.games import othello, tictactoe
from azo.learning import (
    ply_records,
    replay,
    selfplay,
    starts,
    statistics,
)
from azo.search import improvement

GAME = flat_games.GAME


def archive(boards, regrets=None, capacity=64):
    """Returns a ring of one device with boards `[M]` of 4x4 in its first rows."""
    buffer = replay.empty_buffer(GAME, capacity, has_regret=True)
    number = len(boards)
    regrets = np.zeros(number) if regrets is None else regrets
    return dataclasses.replace(
        buffer,
        board=buffer.board.at[:number].set(boards),
        regret=buffer.regret.at[:number].set(jnp.asarray(regrets, jnp.float16)),
        size=jnp.array([number], jnp.int32),
    )


@functools.cache
def game_boards():
    """Returns the packed positions of one random 4x4 game, all different."""
    games = random_games.play(GAME, 1, seed=0)
    length = int(games.is_over[:, 0].argmax())
    return np.asarray(GAME.pack(games.position))[:length, 0]


@functools.partial(jax.jit, static_argnames=("share", "num_candidates", "adjudicate_empties"))
def draw(buffer, key, share=1.0, num_candidates=1, adjudicate_empties=0):
    return starts.draw_archived(
        GAME,
        buffer,
        key,
        (100, 200),
        share=share,
        num_candidates=num_candidates,
        adjudicate_empties=adjudicate_empties,
    )


def drawn_rows(boards, archived):
    """Returns the numbers of the drawn boards in `boards`; fails for any other board."""
    number = {board.tobytes(): row for row, board in enumerate(np.asarray(boards))}
    drawn = np.asarray(GAME.pack(archived.position)).reshape(-1, GAME.packed_words)
    return np.array([number[board.tobytes()] for board in drawn])


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_as_large_a_share_of_starts_is_used_as_set(share):
    is_used = draw(archive(game_boards()), jax.random.key(0), share=share).start_regret >= 0
    # Five standard deviations of 20,000 draws.
    assert abs(np.mean(is_used) - share) <= 5 * np.sqrt(share * (1 - share) / 20_000)


def test_no_start_is_used_while_no_position_can_be_played_on():
    assert (draw(archive(game_boards()[:0]), jax.random.key(0)).start_regret == -1).all()
    endings = game_boards()[-8:]
    assert (draw(archive(endings), jax.random.key(0)).start_regret >= 0).all()
    archived = draw(archive(endings), jax.random.key(0), adjudicate_empties=10)
    assert (archived.start_regret == -1).all()


@pytest.mark.parametrize("num_candidates", [1, 2, 5])
def test_positions_that_can_be_played_on_are_drawn_as_by_a_tournament(num_candidates):
    boards = game_boards()[::-1]  # positions that cannot be drawn come first
    regrets = np.random.default_rng(0).permutation(len(boards)) / 8
    archived = draw(
        archive(boards, regrets),
        jax.random.key(2),
        num_candidates=num_candidates,
        adjudicate_empties=3,
    )
    row = drawn_rows(boards, archived)
    np.testing.assert_array_equal(np.asarray(archived.start_regret).reshape(-1), regrets[row])
    is_open = np.asarray(GAME.num_empties(GAME.unpack(jnp.asarray(boards)))) > 3
    number = is_open.sum()
    assert 6 <= number < len(boards)
    rank = (regrets[:, None] >= regrets[is_open]).sum(axis=1)
    wins = rank**num_candidates - (rank - 1.0) ** num_candidates
    probability = np.where(is_open, wins / number**num_candidates, 0)
    counts = np.bincount(row, minlength=len(boards))
    deviation = np.sqrt(20_000 * probability * (1 - probability))
    assert (np.abs(counts - 20_000 * probability) <= 5 * deviation + is_open).all()


def test_only_games_that_end_begin_again_and_at_the_archived_positions():
    boards = game_boards()[5:9]
    config = selfplay.SelfplayConfig(num_games=16, num_plies=40, archive_share=0.5)
    search = improvement.SearchConfig(num_simulations=1, max_considered_actions=1)

    @jax.jit
    def play(key):
        archived = starts.draw_archived(
            GAME, archive(boards, [0, 0.5, 1, 2]), key, (40, 16), share=0.5, num_candidates=1
        )
        games = starts.spread_games(GAME, key, 16)
        games = dataclasses.replace(games, start_regret=jnp.full(16, -1, jnp.float16))
        _, turns = selfplay.play(
            GAME, flat_games.flat, key, games, search=search, config=config, archived=archived
        )
        return archived, turns

    archived, turns = jax.device_get(play(jax.random.key(0)))
    plies, regret = turns.plies, turns.start_regret
    is_last = plies.discount[:-1] == 0
    is_used = archived.start_regret[:-1][is_last] >= 0
    assert 0 < is_used.sum() < len(is_used)
    np.testing.assert_array_equal(plies.ply[1:][is_last], 0)
    expected = np.asarray(GAME.pack(archived.position))[:-1][is_last]
    expected[~is_used] = GAME.pack(GAME.start())
    np.testing.assert_array_equal(plies.board[1:][is_last], expected)
    np.testing.assert_array_equal(regret[1:][is_last], archived.start_regret[:-1][is_last])
    goes_on = ~is_last
    np.testing.assert_array_equal(plies.ply[1:][goes_on], plies.ply[:-1][goes_on] + 1)
    np.testing.assert_array_equal(regret[1:][goes_on], regret[:-1][goes_on])


def test_the_regret_of_a_row_is_the_error_of_the_search():
    value = np.array([0.5, -0.25, 0.75, 1.0])[:, None]
    outcome = np.array([1.0, -1.0, -1.0, 1.0])[:, None]
    plies = made_plies.make(GAME, (4, 1), value=value)
    rows = replay.played_rows(made_plies.finalised(plies, outcome), jnp.asarray(outcome))
    buffer = replay.insert(replay.empty_buffer(GAME, 8, has_regret=True), rows)
    np.testing.assert_array_equal(buffer.regret, [0.5, 0.75, 1.75, 0, 0, 0, 0, 0])
    assert replay.insert(replay.empty_buffer(GAME, 8), rows).regret is None


def test_statistics_of_the_first_player_leave_out_games_from_the_archive():
    # Four games of one ply: two from an opening, won by the player who began, and two others.
    plies = made_plies.make(GAME, (1, 4), discount=0, reward=[[1, 1, -1, -1]])
    turns = made_plies.turns(GAME, plies, {})
    turns = dataclasses.replace(turns, start_regret=jnp.array([[-1, -1, 0.5, 0]], jnp.float16))

    @jax.jit
    def gathered(turns):
        finalised, _ = ply_records.finalise(ply_records.empty_history(GAME, 4), turns.plies)
        return statistics.gather(GAME, turns, finalised)

    metrics = statistics.describe(gathered(turns))
    assert metrics["selfplay/first_player_score"] == 1
    assert metrics["selfplay/first_player_wins"] == 2
    assert metrics["selfplay/mean_plies"] == 1
    assert metrics["selfplay/archive_share"] == 0.5
    assert metrics["selfplay/start_regret"] == 0.25


def test_an_opening_that_would_end_the_game_is_not_played():
    game = tictactoe.TicTacToe()
    games = starts.new_games(game, jax.random.key(0), 200, max_opening_plies=9)
    assert not game.is_over(games.position).any()
    assert games.ply.max() > 4


@pytest.mark.parametrize(
    ("size", "minimum", "maximum", "empties"), [(6, 0, 5, 0), (6, 3, 5, 0), (8, 0, 40, 10)]
)
def test_new_games_begin_after_so_many_random_plies(size, minimum, maximum, empties):
    game = othello.Othello(size)
    games = starts.new_games(
        game,
        jax.random.key(0),
        4000,
        min_opening_plies=minimum,
        max_opening_plies=maximum,
        adjudicate_empties=empties,
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
