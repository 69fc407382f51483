"""Positions of runs as examples: each once, from all rings, and learning from them."""

import jax
import numpy as np
import pytest
from support import tiny_run

from azo.cli import command_line, supervise
from azo.games import othello, tictactoe
from azo.run import checkpoint, kept_positions, network_files


def save(folder, num_devices=1):
    """Saves a run with checkpoints 3 and 6; returns their replays."""
    settings = tiny_run.settings(
        search={"score_share": 0.3}, run={"folder": str(folder), "num_devices": num_devices}
    )
    state, replays = tiny_run.begin(num_devices), []
    with checkpoint.Checkpoints(folder, keep=2) as checkpoints:
        for iteration in range(1, 7):
            state, _ = tiny_run.iteration(num_devices)(state, 0.0)
            if iteration % 3 == 0:
                checkpoints.save(iteration, state, settings)
                replays.append(jax.device_get(state.replay))
    return replays


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    save(folder)
    return folder


def used(buffer):
    """Returns the positions of all rings, `[R]` tuples of their bytes."""
    rings = len(buffer.size)
    columns = (buffer.iteration, buffer.board, buffer.policy, buffer.value, buffer.score)
    by_ring = [column.reshape(rings, -1, *column.shape[1:]) for column in columns]
    return [
        tuple(column[ring, row].tobytes() for column in by_ring)
        for ring in range(rings)
        for row in range(buffer.size[ring])
    ]


@pytest.mark.parametrize("num_devices", [1, 2])
def test_each_position_is_read_once_from_all_rings(tmp_path, num_devices):
    early, late = save(tmp_path / "run", num_devices)
    assert set(used(early)) & set(used(late))  # the replays overlap
    read = kept_positions.read(tmp_path / "run", tictactoe.TicTacToe())
    is_after = late.iteration > early.iteration.max()
    rows = late.iteration[is_after]
    # Nothing is missing of the first replay, nor of the iterations after it.
    assert len(read["value"]) == len(used(early)) + len(rows)
    columns = ("iteration", "board", "policy", "value", "score")
    found = list(zip(*[[row.tobytes() for row in read[name]] for name in columns], strict=True))
    assert set(found) <= set(used(early)) | set(used(late))
    assert set(used(early)) <= set(found)
    np.testing.assert_array_equal(np.sort(read["iteration"][-len(rows) :]), np.sort(rows))


def test_whole_iterations_are_held_out(run):
    positions = kept_positions.read(run, tictactoe.TicTacToe())
    learned, held_out = kept_positions.dataset(positions, 0.25)
    assert learned.num_rows + len(held_out) == len(positions["value"])
    assert set(held_out.game) == {i for i in positions["iteration"] if i % 4 == 0}
    np.testing.assert_array_equal(held_out.action, held_out.policy.argmax(axis=1))


def test_a_network_learns_from_runs(run, tmp_path, capsys):
    other = tmp_path / "other"
    save(other)
    flags = [run, other, "--source", "runs", "--start", run, "--folder", tmp_path / "pooled"]
    flags += ["--num-epochs", 40, "--examples.held-out", 0.5]
    assert command_line.run_main(supervise.main, [str(flag) for flag in flags]) == 0
    assert "2 runs; learned: " in capsys.readouterr().out
    variables, settings = network_files.load(tmp_path / "pooled" / "best")
    before, of_run = network_files.load(run)
    assert (settings.network, settings.search) == (of_run.network, of_run.search)
    assert settings.learner.learning_rate == of_run.learner.learning_rate
    assert settings.learner.schedule == "cosine"
    assert [source.kind for source in settings.origin] == ["network", "teacher", "teacher"]
    changed = jax.tree.map(lambda a, b: not np.array_equal(a, b), before, variables)
    assert jax.tree.reduce(lambda a, b: a or b, changed)


def test_what_is_not_a_run_of_the_game_is_named(run, tmp_path):
    with pytest.raises(ValueError, match="a run of tictactoe, not of othello8"):
        kept_positions.read(run, othello.Othello())
    with pytest.raises(ValueError, match="no such folder"):
        kept_positions.read(tmp_path / "none", tictactoe.TicTacToe())
    network_files.save(tmp_path / "exported", *network_files.load(run))
    with pytest.raises(ValueError, match="a network without the positions of its run"):
        kept_positions.read(tmp_path / "exported", tictactoe.TicTacToe())
    with pytest.raises(ValueError, match="--source runs needs the folders of runs"):
        supervise.load(["--source", "runs"])
