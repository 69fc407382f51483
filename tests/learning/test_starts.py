"""Starts of new games: random openings, and archived positions of earlier games."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import flat_games, made_plies, random_games, tiny_run

from azo.games import othello, tictactoe
from azo.learning import (
    loop,
    pending_plies,
    placement,
    ply_records,
    replay,
    run_state,
    selfplay,
    starts,
    statistics,
)
from azo.search import improvement

SIX = othello.Othello(6)


def archive(boards, regrets=None, capacity=64):
    """Returns a ring of one device with boards `[M]` of 6x6 in its first rows."""
    buffer = replay.empty_buffer(SIX, capacity, has_regret=True)
    number = len(boards)
    regrets = np.zeros(number) if regrets is None else regrets
    return dataclasses.replace(
        buffer,
        board=buffer.board.at[:number].set(boards),
        regret=buffer.regret.at[:number].set(jnp.asarray(regrets, jnp.float16)),
        size=jnp.array([number], jnp.int32),
    )


@functools.cache
def six_boards():
    """Returns the packed positions of one random 6x6 game, all different."""
    games = random_games.play(SIX, 1, seed=0)
    length = int(games.is_over[:, 0].argmax())
    return np.asarray(SIX.pack(games.position))[:length, 0]


@functools.partial(jax.jit, static_argnames=("share", "num_candidates", "adjudicate_empties"))
def draw(buffer, key, share=1.0, num_candidates=1, adjudicate_empties=0):
    return starts.draw_archived(
        SIX,
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
    drawn = np.asarray(SIX.pack(archived.position)).reshape(-1, SIX.packed_words)
    return np.array([number[board.tobytes()] for board in drawn])


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_as_large_a_share_of_starts_is_used_as_set(share):
    is_used = draw(archive(six_boards()), jax.random.key(0), share=share).is_used
    # Five standard deviations of 20,000 draws.
    assert abs(np.mean(is_used) - share) <= 5 * np.sqrt(share * (1 - share) / 20_000)


def test_no_start_is_used_while_no_position_can_be_played_on():
    assert not draw(archive(six_boards()[:0]), jax.random.key(0)).is_used.any()
    endings = six_boards()[-8:]
    assert draw(archive(endings), jax.random.key(0)).is_used.all()
    assert not draw(archive(endings), jax.random.key(0), adjudicate_empties=10).is_used.any()


def test_with_one_candidate_all_positions_that_can_be_played_on_are_drawn_alike():
    boards = six_boards()[::-1]  # positions that cannot be drawn come first
    archived = draw(archive(boards), jax.random.key(1), adjudicate_empties=10)
    empties = np.asarray(SIX.num_empties(SIX.unpack(jnp.asarray(boards))))
    counts = np.bincount(drawn_rows(boards, archived), minlength=len(boards))
    is_open = empties > 10
    assert 10 <= is_open.sum() < len(boards)
    np.testing.assert_array_equal(counts[~is_open], 0)
    expected = 20_000 / is_open.sum()
    assert np.abs(counts[is_open] - expected).max() < 5 * np.sqrt(expected)


@pytest.mark.parametrize("num_candidates", [2, 5])
def test_the_best_of_several_candidates_has_the_distribution_of_a_tournament(num_candidates):
    boards = six_boards()[:12]
    regrets = np.random.default_rng(0).permutation(12) / 8
    archived = draw(archive(boards, regrets), jax.random.key(2), num_candidates=num_candidates)
    row = drawn_rows(boards, archived)
    np.testing.assert_array_equal(np.asarray(archived.regret).reshape(-1), regrets[row])
    rank = np.argsort(np.argsort(regrets)) + 1
    probability = (rank**num_candidates - (rank - 1.0) ** num_candidates) / 12**num_candidates
    counts = np.bincount(row, minlength=12)
    deviation = np.sqrt(20_000 * probability * (1 - probability))
    assert (np.abs(counts - 20_000 * probability) <= 5 * deviation + 1).all()


def test_only_games_that_end_begin_again_and_at_the_archived_positions():
    boards = six_boards()[5:9]
    config = selfplay.SelfplayConfig(num_games=16, num_plies=40, archive_share=0.5)
    search = improvement.SearchConfig(num_simulations=1, max_considered_actions=1)

    def flat(key, position):
        del key
        legal = SIX.legal_mask(position)
        return improvement.Evaluation(
            prior_logits=jnp.zeros(legal.shape), value=jnp.zeros(legal.shape[:-1])
        )

    @jax.jit
    def play(key):
        archived = starts.draw_archived(
            SIX, archive(boards, [0, 0.5, 1, 2]), key, (40, 16), share=0.5, num_candidates=1
        )
        games = starts.from_openings(starts.spread_games(SIX, key, 16))
        _, turns = selfplay.play(
            SIX, flat, key, games, search=search, config=config, archived=archived
        )
        return archived, turns

    archived, turns = jax.device_get(play(jax.random.key(0)))
    plies, regret = turns.plies, turns.start_regret
    is_last = plies.discount[:-1] == 0
    is_used = archived.is_used[:-1][is_last]
    assert 0 < is_used.sum() < len(is_used)
    np.testing.assert_array_equal(plies.ply[1:][is_last], 0)
    expected = np.asarray(SIX.pack(archived.position))[:-1][is_last]
    expected[~is_used] = SIX.pack(SIX.start())
    np.testing.assert_array_equal(plies.board[1:][is_last], expected)
    new_regret = np.where(is_used, archived.regret[:-1][is_last], -1)
    np.testing.assert_array_equal(regret[1:][is_last], new_regret)
    goes_on = ~is_last
    np.testing.assert_array_equal(plies.ply[1:][goes_on], plies.ply[:-1][goes_on] + 1)
    np.testing.assert_array_equal(regret[1:][goes_on], regret[:-1][goes_on])


def test_the_regret_of_a_row_is_the_error_of_the_search():
    game = flat_games.GAME
    value = np.array([0.5, -0.25, 0.75, 1.0])[:, None]
    outcome = np.array([1.0, -1.0, -1.0, 1.0])[:, None]
    plies = made_plies.make(game, (4, 1), value=value)
    rows = replay.played_rows(made_plies.finalised(plies, outcome), jnp.asarray(outcome))
    buffer = replay.insert(replay.empty_buffer(game, 8, has_regret=True), rows)
    np.testing.assert_array_equal(buffer.regret, [0.5, 0.75, 1.75, 0, 0, 0, 0, 0])
    assert replay.insert(replay.empty_buffer(game, 8), rows).regret is None


def test_rows_without_a_result_have_no_regret():
    game = flat_games.GAME
    plies = made_plies.make(game, (4, 1), value=0.5)
    rows = replay.played_rows(made_plies.finalised(plies, np.ones((4, 1))), jnp.ones((4, 1)))
    buffer = replay.empty_buffer(game, 4, has_regret=True)
    for some in (rows, dataclasses.replace(rows, regret=None)):
        buffer = replay.insert(buffer, some)
    np.testing.assert_array_equal(buffer.regret, np.zeros(4))


def test_statistics_of_the_first_player_leave_out_games_from_the_archive():
    game = flat_games.GAME
    # Four games of one ply: two from an opening, won by the player who began, and two others.
    plies = made_plies.make(game, (1, 4), discount=0, reward=[[1, 1, -1, -1]])
    zero = ply_records.PredictionStatistics(*4 * [jnp.zeros(1)])
    turns = made_plies.turns(game, plies, zero)
    turns = dataclasses.replace(turns, start_regret=jnp.array([[-1, -1, 0.5, 0]], jnp.float16))

    @jax.jit
    def gathered(turns):
        finalised, _ = pending_plies.finalise(pending_plies.empty(game, 4), turns.plies)
        return statistics.gather(game, turns, finalised, turns.predictions)

    sums = gathered(turns)
    metrics = statistics.describe(sums) | statistics.describe_archive(sums)
    assert metrics["selfplay/first_player_score"] == 1
    assert metrics["selfplay/first_player_wins"] == 2
    assert metrics["selfplay/mean_plies"] == 1
    assert metrics["selfplay/archive_share"] == 0.5
    assert metrics["selfplay/start_regret"] == 0.25


def run_with_archive(num_iterations, **changes):
    """Yields state and metrics of the iterations of a small run, on the host."""
    recipe = tiny_run.settings(selfplay={"archive_share": 0.75, "archive_candidates": 2} | changes)
    game, mesh = tiny_run.game(), placement.make_mesh(1)
    state = placement.begin(game, recipe, mesh, seed=0)
    iterate = loop.build(game, recipe, mesh)
    for _ in range(num_iterations):
        state, metrics = iterate(state, 0.0)
        yield jax.device_get((state, metrics))


def test_games_of_a_run_begin_at_positions_of_its_own_earlier_games():
    game = tiny_run.game()
    seen, num_branched = set(), 0
    for state, metrics in run_with_archive(12):
        begins = state.history.is_waiting & (state.history.plies.ply == 0)
        begins &= state.history.plies.iteration == int(state.iteration) - 1
        boards = state.history.plies.board[begins]
        is_branched = boards.any(axis=-1)  # the start position is empty
        assert {board.tobytes() for board in boards[is_branched]} <= seen
        assert not np.asarray(game.is_over(game.unpack(jnp.asarray(boards)))).any()
        num_branched += is_branched.sum()
        replayed = state.replay.board[: int(state.replay.size[0])]
        seen |= {board.tobytes() for board in replayed}
        assert np.isfinite(metrics.selfplay.start_regret)
    assert num_branched > 10


def test_a_run_without_archive_has_no_part_of_it():
    begin = functools.partial(run_state.create, tiny_run.game(), seed=0, num_devices=1)
    without, archived = (
        jax.eval_shape(
            functools.partial(begin, tiny_run.settings(selfplay={"archive_share": share}))
        )
        for share in (0.0, 0.5)
    )
    assert without.replay.regret is None
    assert without.games.start_regret is None
    assert archived.replay.regret.shape == (128,)
    assert len(jax.tree.leaves(archived)) == len(jax.tree.leaves(without)) + 2


@pytest.mark.parametrize("num_plies", [28, 40])
def test_long_random_openings_of_8x8_leave_a_game_to_play(num_plies):
    game = othello.Othello(8)
    games = starts.new_games(
        game, jax.random.key(0), 4000, max_opening_plies=num_plies, adjudicate_empties=10
    )
    assert not game.is_over(games.position).any()
    assert game.num_empties(games.position).min() > 10
    counts = np.bincount(games.ply, minlength=num_plies + 1)
    # Openings of up to 28 plies rarely end early.
    expected = 4000 / (num_plies + 1)
    assert np.abs(counts - expected).max() < 6 * np.sqrt(expected)
    # A side may have few discs left; it always has one, and the game goes on.
    discs = np.stack([games.position.player.count(), games.position.opponent.count()])
    assert discs.min() >= 1
    assert (discs.min(axis=0) <= 3).any()


def test_new_games_begin_after_up_to_so_many_random_plies():
    game = othello.Othello(6)
    games = starts.new_games(game, jax.random.key(0), 600, max_opening_plies=5)
    counts = np.bincount(games.ply, minlength=6)
    assert len(counts) == 6
    assert counts.min() > 60  # 100 of each are expected
    discs = np.asarray((games.position.player | games.position.opponent).count())
    np.testing.assert_array_equal(discs, 4 + np.asarray(games.ply))  # no passes that early


def test_an_opening_that_would_end_the_game_is_not_played():
    game = tictactoe.TicTacToe()
    games = starts.new_games(game, jax.random.key(0), 200, max_opening_plies=9)
    assert not game.is_over(games.position).any()
    assert games.ply.max() > 4


def test_new_games_begin_after_the_minimum_of_random_plies():
    game = othello.Othello(6)
    games = starts.new_games(game, jax.random.key(0), 600, min_opening_plies=3, max_opening_plies=5)
    counts = np.bincount(games.ply, minlength=6)
    np.testing.assert_array_equal(counts[:3], 0)
    assert counts[3:].min() > 140  # 200 of each are expected
    with pytest.raises(ValueError, match="min_opening_plies is 6, more than max_opening_plies, 5"):
        selfplay.SelfplayConfig(min_opening_plies=6, max_opening_plies=5)
