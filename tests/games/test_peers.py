"""Two thousand random games replayed by two Othello programs that share no code with this one."""

import jax
import numpy as np
import pytest
from support import random_games

from azo.games import othello

_NUM_GAMES = 2000
_GAME = othello.Othello(8)


@pytest.fixture(scope="module")
def games():
    """Random games, and their boards as `[T, B]` strings of X (black), O and -."""
    games = random_games.play(_GAME, _NUM_GAMES, seed=2024)
    is_black = (np.arange(len(games.action)) % 2 == 0)[:, None]
    return games, random_games.texts(games.position, 8, is_black)


def _plies(games, texts):
    """Yields for each game its plies `(text, legal actions, action)`, last text, black's result."""
    length = games.is_over.argmax(axis=0)
    result = np.asarray(_GAME.result(jax.tree.map(lambda x: x[-1], games.position)))
    # The last position repeats unchanged, so its mover is the side to move when the game ended.
    black_result = np.where(length % 2 == 0, result, -result)
    for b in range(_NUM_GAMES):
        rows, actions = games.legal[: length[b], b], games.action[: length[b], b].tolist()
        legal = [np.flatnonzero(row).tolist() for row in rows]
        plies = list(zip(texts[: length[b], b].tolist(), legal, actions, strict=True))
        yield plies, str(texts[length[b], b]), int(black_result[b])


def test_the_games_contain_passes_draws_and_early_ends(games):
    record, texts = games
    assert (record.action[~record.is_over] == _GAME.pass_action).sum() > 500
    results = [(text.count("-"), result) for _, text, result in _plies(record, texts)]
    assert {result for _, result in results} == {-1, 0, 1}
    assert sum(num_empty > 0 for num_empty, _ in results) > 10


def test_two_thousand_games_agree_with_rust_reversi_at_every_ply(games):
    rust_reversi = pytest.importorskip("rust_reversi")
    colours = {"Black": 1, "White": -1, "None": 0}
    for b, (plies, last, black_result) in enumerate(_plies(*games)):
        board = rust_reversi.Board()
        for ply, (text, legal, action) in enumerate(plies):
            at = f"game {b}, ply {ply}: {text}"
            assert not board.is_game_over(), at
            assert board.get_board_line() == text, at
            assert str(board.get_turn()) == ("White" if ply % 2 else "Black"), at
            assert (board.get_legal_moves_vec() or [_GAME.pass_action]) == legal, at
            if action == _GAME.pass_action:
                assert board.is_pass(), at
                board.do_pass()
            else:
                board.do_move(action)
        assert board.is_game_over(), f"game {b}: {last}"
        assert board.get_board_line() == last, f"game {b}: {last}"
        assert colours[str(board.get_winner())] == black_result, f"game {b}: {last}"


def test_two_thousand_games_agree_with_open_spiel_at_every_ply(games):
    pyspiel = pytest.importorskip("pyspiel")
    peer = pyspiel.load_game("othello")
    to_ours = str.maketrans("xo", "XO")

    def text_of(state):
        rows = str(state).split("\n")[2:10]
        return "".join(row[2:18:2] for row in rows).translate(to_ours)

    for b, (plies, last, black_result) in enumerate(_plies(*games)):
        state = peer.new_initial_state()
        for ply, (text, legal, action) in enumerate(plies):
            at = f"game {b}, ply {ply}: {text}"
            assert not state.is_terminal(), at
            assert text_of(state) == text, at
            assert state.current_player() == ply % 2, at
            assert state.legal_actions() == legal, at
            state.apply_action(action)
        assert state.is_terminal(), f"game {b}: {last}"
        assert text_of(state) == last, f"game {b}: {last}"
        assert state.returns()[0] == black_result, f"game {b}: {last}"
