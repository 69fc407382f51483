"""From games to examples, and steps on them."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.builders import random_games
from support.references import olivaw, slow_board

from azo.formats import game_files, game_texts
from azo.games import notation, othello, tictactoe
from azo.games.host import live_game
from azo.learning import pretraining, supervised, trajectories
from azo.networks import network
from azo.search import improvement

PLAIN = supervised.ExamplesConfig()


def games_of(*transcripts, game=game_files.OTHELLO):
    return game_files.replay(game, game_texts.parse("\n".join(transcripts), game))


def text_of(packed):
    return f"{random_games.texts(othello.Othello().unpack(jnp.asarray(packed)), 8)} X"


def test_plies_are_the_positions_before_each_move_with_the_movers_result():
    games = games_of(olivaw.moves(8), "f5d6", olivaw.moves(1))  # white wins, unfinished, a draw
    plies = supervised.plies_of(othello.Othello(), games.action, games.black_value)
    board, row, has_passed = slow_board.start(8), 0, False
    for action in games.action[0][games.action[0] >= 0]:
        shown = "".join("-" if x == "-" else "X" if x == board.mover else "O"
                        for x in slow_board.text(board))  # fmt: skip
        assert text_of(plies.board[row]) == f"{shown} X"
        assert plies.action[row] == action
        assert plies.value[row] == (-1.0 if board.mover == "X" else 1.0)
        assert plies.ply[row] == row
        has_passed |= action == 64
        board, row = slow_board.play(board, int(action)), row + 1
    assert has_passed
    assert slow_board.is_over(board)
    # The second game has no result, so the third follows.
    assert plies.game[row - 1 : row + 1].tolist() == [0, 2]
    assert (plies.value[row:] == 0).all()
    assert len(plies) == row + games.num_plies[2]


def test_plies_before_a_solved_position_have_its_score():
    game = othello.Othello()
    action = games_of("f5d6c3d3c4", "f5f6").action
    exact = {"exact_score": np.array([-6, 0]), "num_solved": np.array([3, 2])}
    plies = supervised.plies_of(game, action, np.array([1, -1], np.float32), **exact)
    unknown = trajectories.UNKNOWN_SCORE
    assert plies.value.tolist() == [-1, 1, -1, -1, 1, 0, 0]
    assert plies.score.tolist() == [-6, 6, -6, unknown, unknown, 0, 0]


def test_games_are_held_out_together_with_their_copies_and_images():
    rng = np.random.default_rng(0)
    game = othello.Othello()
    action = np.full((2000, 80), -1, np.int8)
    for row, length in zip(action, rng.integers(20, 80, len(action)), strict=True):
        row[:length] = rng.integers(0, 65, length)
    held_out = supervised.is_held_out(game, action, 0.1)
    assert 150 < held_out.sum() < 250  # 200 +- 13
    for k in range(8):
        square = np.append(game.square_symmetries[k], [64, *range(65, 128)]).astype(np.int8)
        image = np.where(action >= 0, square[action], -1)
        wider = np.pad(image, ((0, 0), (0, 5)), constant_values=-1)
        np.testing.assert_array_equal(supervised.is_held_out(game, wider, 0.1), held_out)
    more = supervised.is_held_out(game, action, 0.3)
    assert 520 < more.sum() < 680
    assert more[held_out].all()


def numbered_plies(ply):
    count = len(ply)
    return supervised.RecordedPlies(
        board=np.zeros((count, 4), np.uint32),
        action=np.zeros(count, np.int32),
        value=np.zeros(count, np.float32),
        score=np.zeros(count, np.int8),
        ply=np.asarray(ply, np.int32),
        game=np.arange(count, dtype=np.int32),
    )


def test_thinning_keeps_30_percent_under_ply_8_and_70_percent_under_16():
    ply = np.repeat(np.arange(24), 1000)
    kept = supervised.thinned(numbered_plies(ply), PLAIN, seed=1)
    share = np.bincount(kept.ply) / 1000
    # Five standard deviations of a thousand draws are 0.07.
    np.testing.assert_allclose(share[:8], 0.3, atol=0.07)
    np.testing.assert_allclose(share[8:16], 0.7, atol=0.07)
    np.testing.assert_array_equal(share[16:], 1.0)
    again = supervised.thinned(numbered_plies(ply), PLAIN, seed=1)
    np.testing.assert_array_equal(again.game, kept.game)


# The first four are images of each other; the fifth answers the first move otherwise.
OPENINGS = ("f5d6", "e6f4", "c4e3", "d3c5", "f5f6")
F4, F5, D6, F6 = 29, 37, 43, 45


def opening_examples(transcripts, values):
    game = othello.Othello()
    games = games_of(*transcripts)
    plies = supervised.plies_of(game, games.action, np.array(values, np.float32))
    data = supervised.dataset(game, plies)
    board = [text_of(row) for row in np.asarray(data.board)]
    policy = np.asarray(trajectories.restore(data.policy))
    return dict(zip(board, zip(policy, np.asarray(data.value), strict=True), strict=True))


def board_after(transcript):
    board = live_game.replay(transcript, othello.Othello()).board
    return notation.board_text(notation.Board(board.player, board.opponent, True), 8)


def test_a_position_met_several_times_gives_its_most_played_move_and_mean_result():
    examples = opening_examples(OPENINGS, [1, 1, -1, 0, -1])
    assert len(examples) == 5  # the start, and one after each of the four first moves
    # After f5 each answer was played once: the lower move. After e6 white loses by f4.
    for transcript, move, result in (("", F5, 0.0), ("f5", D6, 0.0), ("e6", F4, -1.0)):
        policy, value = examples[board_after(transcript)]
        np.testing.assert_array_equal(policy, np.arange(65) == move)
        assert value == result


def test_policies_of_searches_are_averaged():
    game = othello.Othello()
    games = games_of("f5d6", "f5d6", "e6f4")
    plies = supervised.plies_of(game, games.action, np.zeros(3, np.float32))
    plies = plies.select(plies.ply == 1)
    policies = np.zeros((3, 65), np.uint8)
    policies[0, [D6, F6]] = 255, 0
    policies[1, [D6, F6]] = 85, 255
    policies[2, [F4, F6]] = 255, 255  # f4 and f6: d6 and f6 of the others
    searched = dataclasses.replace(plies, policy=policies)
    data = supervised.dataset(game, searched)
    after_f5 = [text_of(row) for row in np.asarray(data.board)].index(board_after("f5"))
    policy = np.asarray(trajectories.restore(data.policy))[after_f5]
    np.testing.assert_allclose(policy[[D6, F6]], [0.625, 0.375], atol=0.003)
    assert len(data.value) == 2


def test_scores_are_of_each_ply(monkeypatch):
    game = tictactoe.TicTacToe()
    position = game.step(game.start(3), jnp.array([0, 0, 4])).position
    logits = jnp.zeros((3, 9)).at[0, 1].set(1.0).at[1, 0].set(9.0).at[2, 8].set(-1.0)
    # Row 1 prefers an occupied square, which counts for nothing: the first legal one is left.
    value = jnp.array([0.5, -1.0, 0.0])

    def evaluate(key, seen):
        del key, seen
        return improvement.Evaluation(prior_logits=logits, value=value)

    monkeypatch.setattr(network, "folded_evaluator", lambda *_: evaluate)
    held_out = supervised.score.__wrapped__(
        game, None, {}, game.pack(position), jnp.array([1, 5, 8]), jnp.array([1.0, -1, 1])
    )
    e = np.exp(1.0)
    losses = [np.log(e + 7) - 1, np.log(8), np.log(7 + 1 / e) + 1]
    np.testing.assert_array_equal(held_out["accuracy"], [1, 0, 0])
    np.testing.assert_allclose(held_out["policy_loss"], losses, rtol=1e-6)
    np.testing.assert_allclose(held_out["value_error"], [0.25, 0, 1], rtol=1e-6)


@pytest.mark.slow
def test_random_games_are_legal_and_have_the_result_of_the_board():
    game = othello.Othello(4)
    action, value = jax.device_get(pretraining.random_games(game, jax.random.key(3), 64))
    texts = [notation.transcript(row[row >= 0].tolist(), 4, has_passes=True) for row in action]
    games = games_of(*texts, game=game)
    assert games.is_finished.all()
    np.testing.assert_array_equal(value, games.black_value)
    assert len({*texts}) > 60
