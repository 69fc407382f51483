"""Rounds of a tournament: requests reach the player to move."""

import jax
import numpy as np
from support import slow_board

from azo.games import othello
from azo.measure.tournament import backends, game_log, openings, rounds


def test_each_player_moves_in_its_own_turns():
    game = othello.Othello(4)
    drawn = openings.at_random(game, jax.random.key(0), count=2, plies=3)

    class Fixed:
        """Plays the legal move of the highest number, or the lowest."""

        def __init__(self, is_high):
            self.is_high = is_high

        def submit(self, position, requests):
            legal = np.asarray(game.legal_mask(position))
            chosen = [np.flatnonzero(row)[-1 if self.is_high else 0] for row in legal]
            return lambda: [backends.Reply(int(action), None, 0.0) for action in chosen]

    schedule = [game_log.ScheduledGame(0, "low", "high"), game_log.ScheduledGame(1, "high", "low")]
    records = []
    both = {"low": Fixed(False), "high": Fixed(True)}
    rounds.play(game, schedule, drawn, both, games_at_once=1, on_end=records.append)
    for record, scheduled in zip(records, schedule, strict=True):
        assert record.scheduled == scheduled
        board = slow_board.start(4)
        for ply, action in enumerate(record.actions):
            legal = slow_board.legal_actions(board)
            name = (scheduled.black, scheduled.white)[ply % 2]
            expected = legal[-1] if name == "high" else legal[0]
            assert action == (expected if ply >= 3 else drawn[scheduled.opening][ply])
            board = slow_board.play(board, action)
        assert slow_board.is_over(board)
        assert record.positions == (None, None)
