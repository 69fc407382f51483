"""Two thousand random games replayed by an Othello program that shares no code with this one."""

import jax
import numpy as np
import pytest
from support import random_games

from azo.games import othello

_GAME = othello.Othello(8)


def test_two_thousand_games_agree_with_open_spiel_at_every_ply():
    peer = pytest.importorskip("pyspiel").load_game("othello")

    def text_of(state):
        rows = str(state).split("\n")[2:10]
        return "".join(row[2:18:2] for row in rows).upper()

    games = random_games.play(_GAME, 2000, seed=2024)
    assert (games.action[~games.is_over] == _GAME.pass_action).sum() > 500
    is_black = (np.arange(len(games.action)) % 2 == 0)[:, None]
    texts = random_games.texts(games.position, 8, is_black)
    # The last position repeats unchanged, so its mover is the side to move when the game ended.
    result = np.asarray(_GAME.result(jax.tree.map(lambda x: x[-1], games.position)))
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
