"""The batched rules against slow_board.py, and the laws that any implementation must keep."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from support.builders import random_games
from support.references import slow_board

from azo.games import othello, protocol


@functools.cache
def _game(size, is_reversed=False):
    return othello.Othello(size, is_reversed)


def _slow(text, size, mover="X"):
    return slow_board.Board([list(text[size * r : size * (r + 1)]) for r in range(size)], mover)


@functools.partial(jax.jit, static_argnums=0)
def _look(game, position):
    return (
        game.legal_mask(position),
        game.is_over(position),
        game.margin(position),
        game.score(position),
        game.result(position),
    )


_play = jax.jit(othello.Othello.play, static_argnums=0)
_random_action = jax.jit(othello.Othello.random_action, static_argnums=0)
_greedy_action = jax.jit(othello.Othello.greedy_action, static_argnums=0)


@pytest.mark.parametrize(
    ("size", "is_reversed"),
    [(4, False), (6, False), (8, False), (6, True), (8, True)],
)
def test_random_games_agree_with_the_slow_board_at_every_ply(size, is_reversed):
    game, num_games = _game(size, is_reversed), 20
    games = random_games.play(game, num_games, seed=size)
    is_black = (np.arange(len(games.action)) % 2 == 0)[:, None]
    texts = random_games.texts(games.position, size, is_black)
    for b in range(num_games):
        board = slow_board.start(size)
        for t in range(len(games.action)):
            at = f"game {b}, ply {t}: {texts[t, b]}"
            assert slow_board.is_over(board) == games.is_over[t, b], at
            if games.is_over[t, b]:
                break
            assert texts[t, b] == slow_board.text(board), at
            legal = slow_board.legal_actions(board)
            assert np.flatnonzero(games.legal[t, b]).tolist() == legal, at
            assert games.action[t, b] in legal, at
            board = slow_board.play(board, int(games.action[t, b]))
            ends = slow_board.is_over(board)
            result = -slow_board.result(board, is_reversed=is_reversed)
            assert games.reward[t, b] == (result if ends else 0), at
            assert games.discount[t, b] == (0 if ends else -1), at
        assert games.is_over[-1, b]
        assert not games.reward[t:, b].any()


@pytest.mark.thorough
def test_two_thousand_games_agree_with_open_spiel_at_every_ply():
    """It shares no code with this program."""
    peer, game = pytest.importorskip("pyspiel").load_game("othello"), _game(8)

    def text_of(state):
        rows = str(state).split("\n")[2:10]
        return "".join(row[2:18:2] for row in rows).upper()

    games = random_games.play(game, 2000, seed=2024)
    assert (games.action[~games.is_over] == game.pass_action).sum() > 500
    is_black = (np.arange(len(games.action)) % 2 == 0)[:, None]
    texts = random_games.texts(games.position, 8, is_black)
    # The last position repeats unchanged, so its mover is the side to move when the game ended.
    result = np.asarray(game.result(jax.tree.map(lambda x: x[-1], games.position)))
    results = set()
    for b, length in enumerate(games.is_over.argmax(axis=0)):
        state = peer.new_initial_state()
        for ply in range(length):
            at = f"game {b}, ply {ply}: {texts[ply, b]}"
            assert not state.is_terminal(), at
            assert text_of(state) == texts[ply, b], at
            assert state.current_player() == ply % 2, at
            assert state.legal_actions() == np.flatnonzero(games.legal[ply, b]).tolist(), at
            state.apply_action(int(games.action[ply, b]))
        assert state.is_terminal(), f"game {b}"
        assert text_of(state) == texts[length, b], f"game {b}"
        black_result = result[b] if length % 2 == 0 else -result[b]
        assert state.returns()[0] == black_result, f"game {b}"
        results.add(black_result)
    assert results == {-1, 0, 1}


@pytest.mark.parametrize("size", [4, 6, 8])
def test_positions_out_of_reach_of_any_game_agree_with_the_slow_board(size):
    game, num_boards = _game(size), 300
    position = random_games.boards(size, num_boards, seed=size)
    legal, is_over, margin, score, result = jax.device_get(_look(game, position))
    reversed_result = np.asarray(_game(size, True).result(position))
    chosen = _random_action(game, jax.random.key(1), position)
    after_texts = random_games.texts(_play(game, position, chosen), size, is_black_to_move=False)
    for i, text in enumerate(random_games.texts(position, size).tolist()):
        board = _slow(text, size)
        assert np.flatnonzero(legal[i]).tolist() == slow_board.legal_actions(board), text
        assert is_over[i] == slow_board.is_over(board), text
        assert margin[i] == text.count("X") - text.count("O"), text
        assert score[i] == slow_board.score(board), text
        assert result[i] == slow_board.result(board, is_reversed=False), text
        assert reversed_result[i] == slow_board.result(board, is_reversed=True), text
        after = slow_board.text(slow_board.play(board, int(chosen[i])))
        assert after_texts[i] == after, f"{text} {chosen[i]}"


def test_batches_may_be_empty():
    game = _game(6)
    assert _look(game, game.start(0))[0].shape == (0, 37)
    assert game.step(game.start(2, 0), jnp.zeros((2, 0), jnp.int32)).reward.shape == (2, 0)


def test_one_start_takes_the_place_of_the_games_of_a_batch_that_are_over():
    """Three games on boards of three rows, whose axes must not be taken for that of the games."""
    is_over = np.array([True, False, True])
    games = {"board": jnp.ones((3, 3, 2)), "ply": jnp.arange(3)}
    start = {"board": jnp.zeros((3, 2)), "ply": 7}
    begun = protocol.where(is_over, start, games)
    np.testing.assert_array_equal(begun["board"], np.zeros((3, 3, 2)) + ~is_over[:, None, None])
    np.testing.assert_array_equal(begun["ply"], [7, 1, 7])
    kept = protocol.where(False, games, begun)
    np.testing.assert_array_equal(kept["board"], begun["board"])


def test_random_actions_are_uniform_over_the_legal_ones():
    game, num_draws = _game(8), 20_000
    games = random_games.play(game, 20, seed=8)
    for t, b in ((0, 0), (12, 1), (25, 2), (40, 3), (55, 4)):
        single = jax.tree.map(lambda x, t=t, b=b: x[t, b], games.position)
        many = jax.tree.map(lambda x: jnp.broadcast_to(x, num_draws), single)
        drawn = np.asarray(_random_action(game, jax.random.key(t), many))
        counts = np.bincount(drawn, minlength=game.num_actions)
        legal = games.legal[t, b]
        assert counts[~legal].sum() == 0
        # The seed is fixed, so this bound never fails by chance; a share 10 % too large would.
        assert scipy.stats.chisquare(counts[legal]).pvalue > 1e-3


@pytest.mark.parametrize(("is_reversed", "best"), [(False, max), (True, min)])
def test_greedy_flips_most_discs_or_fewest_in_reversed_othello(is_reversed, best):
    game = _game(6, is_reversed)
    position = random_games.boards(6, 300, seed=30)
    action = np.asarray(_greedy_action(game, jax.random.key(7), position))
    for text, chosen in zip(random_games.texts(position, 6).tolist(), action, strict=True):
        board = _slow(text, 6)
        num_flips = {
            r * 6 + c: len(slow_board.flips(board, r, c, "X"))
            for r, c in slow_board.legal_squares(board, "X")
        }
        if num_flips:
            assert num_flips[chosen] == best(num_flips.values()), text
        else:
            assert chosen == game.pass_action, text


def test_greedy_breaks_ties_at_random():
    action = _greedy_action(_game(6), jax.random.key(8), _game(6).start(300))
    assert len(np.unique(action)) == 4


@pytest.mark.parametrize("size", [3, 5, 9])
def test_boards_of_other_sizes_are_refused(size):
    with pytest.raises(ValueError, match=f"4x4, 6x6 or 8x8, not {size}x{size}"):
        othello.Othello(size)


@pytest.mark.parametrize("size", [4, 6, 8])
def test_legal_actions_lists_the_mask_in_order_and_no_more_than_the_bound(size):
    game, num_slots = _game(size), 12  # fewer than some boards need
    position = random_games.boards(size, 4096, seed=size)
    legal, is_over, *_ = jax.device_get(_look(game, position))
    replies = np.asarray(game.legal_mask(othello.Position(position.opponent, position.player)))
    np.testing.assert_array_equal(is_over, legal[:, -1] & replies[:, -1])  # both have to pass
    assert legal.sum(axis=-1).max() <= game.max_legal <= size**2
    listed = np.asarray(jax.jit(lambda position: game.legal_actions(position, num_slots))(position))
    for row in range(len(legal)):
        expected = np.flatnonzero(legal[row])[:num_slots]
        np.testing.assert_array_equal(listed[row, : len(expected)], expected)
        assert (listed[row, len(expected) :] == -1).all()
