"""Final boards and ownership of whole games, against plain Python."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import made_plies, random_games, slow_board

from azo.games import othello
from azo.learning import pending_plies, ply_records, replay

GAME = othello.Othello(4)
NUM_GAMES = 8


def boards_of(games, b):
    """Yields the boards of a game by the plain rules, its end included."""
    board = slow_board.start(4)
    for action in games.action[: games.is_over[:, b].argmax(), b]:
        yield board
        board = slow_board.play(board, int(action))
    assert slow_board.is_over(board)
    yield board


def owned(board, mover):
    """Returns 1 for the discs of a colour, -1 for the other's, 0 for empty squares."""
    numbers = {mover: 1, slow_board.other(mover): -1, "-": 0}
    return [numbers[square] for square in slow_board.text(board)]


@pytest.mark.slow
def test_every_ply_learns_who_owns_what_at_the_end_as_its_mover_sees_it():
    games = random_games.play(GAME, NUM_GAMES, seed=4)
    lengths = games.is_over.argmax(axis=0)
    lengths[3] -= 4  # resigned: its end is unknown
    plies = made_plies.column(GAME, games, lengths)

    @jax.jit
    def ring_after(first, second):
        waiting = pending_plies.empty(GAME, 1)
        buffer = replay.empty_buffer(GAME, 256, has_final=True)
        for some in (first, second):  # one game goes on from one iteration to the next
            finalised, waiting = pending_plies.finalise(waiting, some)
            final = pending_plies.final_boards(GAME, finalised, made_plies.after(GAME, some))
            buffer = replay.insert(buffer, replay.played_rows(finalised, finalised.outcome, final))
        return replay.take(GAME, buffer, jnp.arange(sum(lengths))), buffer.size

    cut = int(lengths[:2].sum()) + 3
    first, second = (
        jax.tree.map(lambda x, rows=rows: x[rows], plies) for rows in (slice(cut), slice(cut, None))
    )
    examples, size = jax.device_get(ring_after(first, second))
    assert int(size[0]) == sum(lengths)
    row, results = 0, set()
    for b in range(NUM_GAMES):
        *boards, end = boards_of(games, b)
        for board in boards[: lengths[b]]:
            is_resigned = b == 3
            expected = [0] * 16 if is_resigned else owned(end, board.mover)
            np.testing.assert_array_equal(examples.ownership[row], expected)
            if is_resigned:
                assert examples.score[row] == ply_records.UNKNOWN_SCORE
            else:
                sign = 1 if board.mover == end.mover else -1
                assert examples.score[row] == sign * slow_board.score(end)
                assert examples.value[row] == sign * slow_board.result(end, is_reversed=False)
                results.add(examples.value[row])
            row += 1
    assert results == {-1, 0, 1}
    assert len(set(lengths)) > 1
    assert (np.asarray(plies.action) == 16).any()  # some games have passes


def test_only_plies_of_decided_games_are_ready_and_each_once():
    discount = [[-1], [-1], [0], [-1], [-1], [-1], [0], [-1]]
    plies = made_plies.make(GAME, (8, 1), discount=discount, action=np.arange(8)[:, None])
    waiting, ready = pending_plies.empty(GAME, 1), []
    for start in (0, 2, 4, 6):
        some = jax.tree.map(lambda x, start=start: x[start : start + 2], plies)
        finalised, waiting = pending_plies.finalise(waiting, some)
        chosen = np.asarray(finalised.is_ready[:, 0])
        ready.append(np.asarray(finalised.plies.action[:, 0])[chosen].tolist())
    assert ready == [[], [0, 1, 2], [], [3, 4, 5, 6]]
    assert np.asarray(waiting.plies.action)[np.asarray(waiting.is_waiting)].tolist() == [7]


def test_a_waiting_ply_takes_28_bytes_beside_its_board_and_policy():
    waiting = jax.eval_shape(lambda: pending_plies.empty(GAME, 1))
    num_bytes = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(waiting)) // GAME.max_plies
    assert num_bytes - (4 * GAME.packed_words + GAME.num_actions) == 28
