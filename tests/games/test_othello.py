"""The batched rules against slow_board.py, and the laws that any implementation must keep."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from support import random_games, slow_board

from azo.games import bitboard, board_symmetry, notation, othello, replaying, symmetry

_ODD_STARTS = {
    5: "------XO---OXO---OX------ X",
    7: "----------------X-O----XO---OXX--------------X--- X",
}


def _start_text(size):
    if size in _ODD_STARTS:
        return _ODD_STARTS[size]
    return slow_board.text(slow_board.start(size)) + " X"


@functools.cache
def _game(size, is_reversed=False):
    if size not in _ODD_STARTS:
        return othello.Othello(size, is_reversed)
    start = notation.parse_board(_start_text(size), size)
    return othello.Othello(size, is_reversed, (start.player, start.opponent))


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
_step = jax.jit(othello.Othello.step, static_argnums=0)
_random_action = jax.jit(othello.Othello.random_action, static_argnums=0)
_greedy_action = jax.jit(othello.Othello.greedy_action, static_argnums=0)


def _flat(games):
    """Returns the positions of games `[T, B]` as one batch."""
    return jax.tree.map(lambda x: jnp.asarray(x).reshape(-1), games.position)


@pytest.mark.parametrize(
    ("size", "is_reversed"),
    [(4, False), (5, False), (6, False), (7, False), (8, False), (5, True), (8, True)],
)
def test_random_games_agree_with_the_slow_board_at_every_ply(size, is_reversed):
    game, num_games = _game(size, is_reversed), 20
    games = random_games.play(game, num_games, seed=size)
    is_black = (np.arange(len(games.action)) % 2 == 0)[:, None]
    texts = random_games.texts(games.position, size, is_black)
    for b in range(num_games):
        board = _slow(_start_text(size).split()[0], size)
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


@pytest.mark.parametrize("size", [4, 5, 6, 7, 8])
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


@pytest.mark.parametrize("size", [4, 5, 6, 7, 8])
def test_discs_never_overlap_nor_leave_the_board(size):
    position = _flat(random_games.play(_game(size), 20, seed=size))
    assert np.asarray((position.player & position.opponent).is_empty()).all()
    outside = bitboard.from_int((2**64 - 1) & ~_game(size).board_bits)
    both = position.player | position.opponent
    assert np.asarray((both & outside).is_empty()).all()


@pytest.mark.parametrize("size", [4, 5, 6, 7, 8])
def test_the_pass_is_legal_exactly_when_no_square_is(size):
    legal = random_games.play(_game(size), 20, seed=size).legal
    np.testing.assert_array_equal(legal[..., -1], ~legal[..., :-1].any(axis=-1))


@pytest.mark.parametrize("size", [5, 8])
def test_moves_commute_with_the_symmetries(size):
    game = _game(size)
    position = random_games.boards(size, 300, seed=10 + size)
    num_boards, permutations = 300, game.square_symmetries
    action = _random_action(game, jax.random.key(2), position)
    legal = _look(game, position)[0]
    after = game.planes(_play(game, position, action))
    planes = game.planes(position)
    for k in range(board_symmetry.NUM_SYMMETRIES):
        which = jnp.full(num_boards, k)
        moved = np.asarray(symmetry.move_planes(permutations, which, planes))
        moved_position = othello.Position(
            random_games.from_squares(moved[..., 0]), random_games.from_squares(moved[..., 1])
        )
        expected = symmetry.move_policy(permutations, which, legal)
        np.testing.assert_array_equal(_look(game, moved_position)[0], expected)
        inverse = np.append(symmetry.inverse(permutations)[k], game.pass_action)
        moved_after = game.planes(_play(game, moved_position, jnp.asarray(inverse)[action]))
        expected = symmetry.move_planes(permutations, which, after)
        np.testing.assert_array_equal(moved_after, expected)


def test_compiled_rules_equal_plain_ones():
    game = _game(6)
    position = jax.tree.map(lambda x: x[300:316], _flat(random_games.play(game, 20, seed=6)))
    action = game.random_action(jax.random.key(3), position)
    np.testing.assert_array_equal(action, _random_action(game, jax.random.key(3), position))
    plain = (*jax.tree.leaves(game.step(position, action)), game.legal_mask(position))
    compiled = (*jax.tree.leaves(_step(game, position, action)), _look(game, position)[0])
    for left, right in zip(plain, compiled, strict=True):
        np.testing.assert_array_equal(left, right)


def test_a_game_alone_equals_the_same_game_in_a_batch():
    game = _game(6)
    games = random_games.play(game, 20, seed=6)
    for b in (0, 7):
        position = game.start()
        for t in range(len(games.action)):
            assert game.pack(position).shape == (4,)
            in_batch = jax.tree.map(lambda x, t=t, b=b: x[t, b], games.position)
            assert jax.tree.leaves(position) == jax.tree.leaves(in_batch)
            step = _step(game, position, jnp.asarray(games.action[t, b]))
            assert step.reward == games.reward[t, b]
            assert step.discount == games.discount[t, b]
            position = step.position


def test_rules_work_on_several_batch_axes():
    game = _game(6)
    flat = random_games.boards(6, 300, seed=20)
    shaped = jax.tree.map(lambda x: x.reshape(3, 100), flat)
    action = _random_action(game, jax.random.key(4), flat)
    after = _play(game, shaped, action.reshape(3, 100))
    np.testing.assert_array_equal(
        game.pack(after).reshape(300, 4), game.pack(_play(game, flat, action))
    )
    legal = _look(game, shaped)[0]
    np.testing.assert_array_equal(legal.reshape(300, 37), _look(game, flat)[0])
    assert game.planes(shaped).shape == (3, 100, 6, 6, 2)
    assert _greedy_action(game, jax.random.key(5), shaped).shape == (3, 100)
    assert jax.tree.leaves(game.start(2, 3))[0].shape == (2, 3)


@pytest.mark.parametrize("size", [4, 8])
def test_a_finished_game_does_not_change(size):
    game = _game(size)
    games = random_games.play(game, 20, seed=size)
    last = jax.tree.map(lambda x: jnp.asarray(x[-1]), games.position)
    assert games.is_over[-1].all()
    step = _step(game, last, jnp.full(20, game.pass_action))
    np.testing.assert_array_equal(game.pack(step.position), game.pack(last))
    assert not np.asarray(step.reward).any()
    assert not np.asarray(step.discount).any()


def test_packing_and_unpacking_gives_the_position_back():
    game = _game(8)
    position = random_games.boards(8, 300, seed=8)
    packed = game.pack(position)
    assert packed.shape == (300, game.packed_words)
    assert packed.dtype == jnp.uint32
    for left, right in zip(
        jax.tree.leaves(game.unpack(packed)), jax.tree.leaves(position), strict=True
    ):
        np.testing.assert_array_equal(left, right)


def test_planes_show_the_movers_discs_first():
    position = random_games.boards(5, 300, seed=5)
    planes = np.asarray(_game(5).planes(position))
    np.testing.assert_array_equal(planes[..., 0], random_games.to_squares(position.player, 5))
    np.testing.assert_array_equal(planes[..., 1], random_games.to_squares(position.opponent, 5))


@pytest.mark.parametrize(
    ("squares", "score", "result"),
    [
        ("XXXXXXXXXXX-----", 16, 1.0),
        ("XXXXXXXXXXXOOO--", 10, 1.0),
        ("OOOOXXX---------", -10, -1.0),
        ("OOOOOOOOXXXXXXXX", 0, 0.0),
        ("OOXX------------", 0, 0.0),
        ("OOOOOOOOOOO---XX", -12, -1.0),
    ],
)
def test_empty_squares_count_for_the_side_with_more_discs_in_both_variants(squares, score, result):
    position = replaying.position_of(notation.parse_board(squares, 4))
    for game, sign in ((othello.Othello(4), 1.0), (othello.Othello(4, is_reversed=True), -1.0)):
        assert game.score(position) == score
        assert game.result(position) == sign * result


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize("size", [4, 5])
def test_final_scores_are_those_of_the_list_and_their_sign_is_the_result(size, is_reversed):
    game = othello.Othello(size, is_reversed, start_bits=(0x1008, 0x0810) if size == 5 else None)
    games = random_games.play(game, 200, seed=1)
    last = jax.tree.map(lambda x: x[-1], games.position)
    assert np.asarray(game.is_over(last)).all()
    score = np.asarray(game.final_score(last))
    np.testing.assert_array_equal(np.sign(score), game.result(last))
    assert set(score) <= set(game.scores.tolist())
    assert len(set(score)) > 5
    np.testing.assert_array_equal(game.scores, -game.scores[::-1])


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


@pytest.mark.parametrize("size", [4, 5, 6, 7, 8])
def test_random_and_greedy_actions_are_always_legal(size):
    game = _game(size)
    games = random_games.play(game, 20, seed=size)
    legal = games.legal.reshape(-1, game.num_actions)
    for choose in (_random_action, _greedy_action):
        action = np.asarray(choose(game, jax.random.key(6), _flat(games)))
        assert np.take_along_axis(legal, action[:, None], axis=1).all()


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


def test_a_side_without_discs_ends_the_game():
    wiped_out = replaying.position_of(notation.parse_board("X" * 5 + "-" * 11, 4))
    assert othello.Othello(4).is_over(wiped_out)


@pytest.mark.parametrize("size", [3, 9, 10])
def test_boards_of_other_sizes_are_refused(size):
    with pytest.raises(ValueError, match=f"4x4 to 8x8, not {size}x{size}"):
        othello.Othello(size)


def test_an_odd_board_without_a_start_is_refused():
    with pytest.raises(
        ValueError, match="a 5x5 board has no centre square of four: choose an even"
    ):
        othello.Othello(5)


def test_no_game_is_longer_than_max_plies():
    assert othello.Othello(6).max_plies == 64
    assert random_games.play(_game(6), 20, seed=6).is_over[-1].all()


@pytest.mark.parametrize("size", [4, 5, 6, 7, 8])
def test_legal_actions_lists_the_mask_in_order_and_no_more_than_the_bound(size):
    game, num_slots = _game(size), 12  # fewer than some boards need
    position = random_games.boards(size, 4096, seed=size)
    legal = np.asarray(_look(game, position)[0])
    assert legal.sum(axis=-1).max() <= game.max_legal <= size**2
    listed = np.asarray(jax.jit(lambda position: game.legal_actions(position, num_slots))(position))
    for row in range(len(legal)):
        expected = np.flatnonzero(legal[row])[:num_slots]
        np.testing.assert_array_equal(listed[row, : len(expected)], expected)
        assert (listed[row, len(expected) :] == -1).all()
