"""Endings that the host's solver labels while the device plays on: whole runs on 4x4."""

import contextlib
import multiprocessing
import os
import signal
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import random_games, slow_minimax, tiny_run

from azo.games import othello
from azo.learning import endings, ply_records
from azo.run import config, host_endings, interruption, metrics, trainer

GAME = othello.Othello(4)
EMPTIES = 6


def settings(folder, *, sections=None, **run):
    """Settings of a run whose games are adjudicated."""
    chosen = {
        "game": {"name": "othello", "size": 4},
        "network": {"has_ownership_head": True},
        "selfplay": {"num_plies": 5, "explored_share": 1.0, "max_opening_plies": 3},
        "resignation": {"is_enabled": True, "played_out_share": 0.5, "min_games": 1},
        "replay": {"capacity": 1024, "min_positions": 16},
        "learner": {"ownership_weight": 0.1},
        "endings": {"adjudicate_empties": EMPTIES, "solver": "host", "late_share": 0.5},
    }
    run = {"folder": str(folder), "num_iterations": 7, "solver_processes": 1} | run
    return tiny_run.settings(**chosen | (sections or {}), run=run)


def boards_of(packed):
    """Returns `[..., n, n]` int8 of packed boards: 1 for discs of the side to move, -1, 0."""
    position = GAME.unpack(jnp.asarray(packed))
    player, opponent = (
        random_games.to_squares(board, 4) for board in (position.player, position.opponent)
    )
    return player.astype(np.int8) - opponent.astype(np.int8)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder and the last state of an uninterrupted run."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, trainer.train(settings(folder))


def at_call(monkeypatch, number, act):
    """Lets something happen in one iteration, before its moves are collected."""
    collect, calls = host_endings.HostEndings._collect, []

    def then(self, numbers):
        calls.append(None)
        if len(calls) == number:
            act()
        return collect(self, numbers)

    monkeypatch.setattr(host_endings.HostEndings, "_collect", then)


def kill_workers():
    children = multiprocessing.active_children()
    assert children
    for child in children:
        with contextlib.suppress(ProcessLookupError):  # the death of one ends the others
            os.kill(child.pid, signal.SIGKILL)
        child.join()


@pytest.mark.slow
def test_ctrl_c_and_a_killed_solver_change_no_bit_of_a_run(whole, tmp_path, monkeypatch, capsys):
    with interruption.StopRequest() as stop, monkeypatch.context() as patch:
        at_call(patch, 2, lambda: signal.raise_signal(signal.SIGINT))
        trainer.train(settings(tmp_path, solver_processes=2), stop)
    assert "stopped and saved after iteration 2" in capsys.readouterr().out
    with interruption.StopRequest() as stop, monkeypatch.context() as patch:
        at_call(patch, 2, kill_workers)  # the fourth iteration
        # Two iterations later, since endings may have been solved before the end of the workers.
        at_call(patch, 4, lambda: signal.raise_signal(signal.SIGTERM))
        trainer.train(settings(tmp_path, solver_processes=2), stop)
    out = capsys.readouterr().out
    assert "a solver process has died: its endings are solved again" in out
    assert "stopped and saved after iteration 6" in out
    state = trainer.train(settings(tmp_path))
    tiny_run.assert_same_bits(state, whole[1])
    solved = [
        [event["endings/solved"] for event in metrics.read(folder, "iteration")]
        for folder in (whole[0], tmp_path)
    ]
    assert solved[0] == solved[1]
    assert solved[0][:2] == [0, 0]  # the first turns are labelled two iterations later
    assert min(solved[0][2:]) > 0


@pytest.mark.slow
def test_the_host_finds_the_scores_and_best_moves_of_the_device(whole):
    state = whole[1]
    turns = state.unlabelled
    half = settings("").selfplay.num_plies
    with host_endings.HostEndings(settings(""), GAME, note=print) as solver:
        moves = solver.moves(state)
    oldest = jax.tree.map(lambda x: x[:half], (turns.after, turns.is_adjudicated))
    position, is_ending = jax.tree.map(jnp.ravel, oldest)
    moves = jax.tree.map(lambda x: x.reshape(EMPTIES, -1, *x.shape[3:]), moves)
    lines = jax.device_get(
        jax.jit(endings.replay_lines, static_argnums=0)(GAME, position, is_ending, moves)
    )
    k, m = np.nonzero(lines.is_valid)
    assert len(set(m)) == is_ending.sum() > 3
    solve = jax.jit(
        lambda position: endings.solve(
            GAME, jax.random.key(0), position, jnp.ones(len(k), bool), max_empties=EMPTIES
        )
    )
    device = jax.device_get(solve(GAME.unpack(jnp.asarray(lines.board[k, m]))))
    np.testing.assert_array_equal(lines.board[k, m], device.board[0])
    np.testing.assert_array_equal(lines.policy[k, m], device.policy[0])
    np.testing.assert_array_equal(lines.score[k, m], device.score[0])
    assert GAME.is_over(GAME.unpack(jnp.asarray(lines.end[is_ending]))).all()


@pytest.mark.slow
@pytest.mark.skipif(jax.device_count() < 8, reason="needs eight devices")
def test_labels_reach_the_games_of_every_device(tmp_path):
    everything = {"endings": {"adjudicate_empties": EMPTIES, "solver": "host"}}
    state = trainer.train(settings(tmp_path, num_devices=2, sections=everything))
    buffer, num_exact = jax.device_get(state.replay), []
    for device in range(2):
        rows = device * 512 + np.arange(int(buffer.size[device]))
        boards = boards_of(buffer.board[rows])
        is_late = (boards == 0).sum(axis=(1, 2)) <= EMPTIES
        is_solved = is_late & (buffer.score[rows] != ply_records.UNKNOWN_SCORE)  # not explored
        score = slow_minimax.scores(boards[is_solved], is_reversed=False)
        np.testing.assert_array_equal(buffer.score[rows][is_solved], score)
        np.testing.assert_array_equal(buffer.value[rows][is_solved], np.sign(score))
        num_exact.append(is_solved.sum())
    assert min(num_exact) > 20


@pytest.mark.slow
def test_late_positions_are_thinned(whole):
    buffer = jax.device_get(whole[1].replay)
    boards = boards_of(buffer.board[: int(buffer.size[0])])
    late = ((boards == 0).sum(axis=(1, 2)) <= EMPTIES).sum()
    solved = sum(event["endings/solved"] for event in metrics.read(whole[0], "iteration"))
    # Lines are nearly EMPTIES long, and half of their positions are kept: 5 deviations.
    assert abs(late / (solved * EMPTIES) - 0.5) < 0.1 + 2.5 / (solved * EMPTIES) ** 0.5


def test_several_processes_are_refused(monkeypatch):
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    with pytest.raises(ValueError, match="'host', which needs a run of 1 process, not 2: choose"):
        host_endings.HostEndings(settings("run"), GAME, note=print)


def test_a_slow_solver_is_waited_for_with_a_message(monkeypatch):
    notes = []
    with host_endings.HostEndings(settings("run"), GAME, note=notes.append) as solver:
        line = types.SimpleNamespace(moves=(3,), best=((3, 5),), seconds=0.5)
        answers = iter([TimeoutError(), TimeoutError(), line, line])

        def collect(number, timeout_seconds):
            del number, timeout_seconds
            answer = next(answers)
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr(solver._workers, "collect", collect)
        moves = solver._collect({9: 0, 12: 1})
    assert notes == ["the solver has 2 endings left: waiting"] * 2
    assert np.argwhere(moves.action).tolist() == [[0, 1, 1], [0, 1, 4]]  # ply 1 of games 1 and 4
    best = np.unpackbits(moves.best[0, 1, 4], count=17)
    assert np.flatnonzero(best).tolist() == [3, 5]


def test_shapes_that_waiting_turns_depend_on_cannot_be_scheduled():
    for change in ({"selfplay.num_plies": 3}, {"endings.adjudicate_empties": 5}):
        schedule = {"generation": {"schedule": [{"start": 2, "set": change}]}}
        (name,) = change
        with pytest.raises(ValueError, match=f"{name} cannot change during a run"):
            config.at_generation(settings("run", sections=schedule), 2)
