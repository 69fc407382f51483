"""Positions of runs as examples: each once, from all rings, and learning from them."""

import shutil

import jax
import numpy as np
import pytest
from support.builders import tiny_run
from support.drivers import commands

from azo.cli import supervise
from azo.games import othello, tictactoe
from azo.networks import network_files
from azo.training import checkpoint, first_network, supervised_data


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The folder of a run on two devices with checkpoints 3 and 6, and their replays."""
    folder, state, replays = tmp_path_factory.mktemp("runs") / "run", tiny_run.begin(2), []
    settings = tiny_run.settings(
        search={"score_share": 0.3}, run={"folder": str(folder), "num_devices": 2}
    )
    with checkpoint.Checkpoints(folder, keep=2) as checkpoints:
        settings = first_network.with_origin(settings, checkpoints)
        for iteration in range(1, 7):
            state, _ = tiny_run.iteration(2)(state, 0.0)
            if iteration % 3 == 0:
                checkpoints.save(iteration, state, settings)
                replays.append(jax.device_get(state.replay))
    return folder, *replays


@pytest.fixture(scope="module")
def run(saved):
    return saved[0]


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


@pytest.mark.thorough
def test_each_position_is_read_once_from_all_rings(saved):
    run, early, late = saved
    assert set(used(early)) & set(used(late))  # the replays overlap
    read = supervised_data.kept_positions(run, tictactoe.TicTacToe())
    is_after = late.iteration > early.iteration.max()
    rows = late.iteration[is_after]
    # Nothing is missing of the first replay, nor of the iterations after it.
    assert len(read) == len(used(early)) + len(rows)
    columns = (read.game, read.board, read.policy, read.value, read.score)
    found = list(zip(*[[row.tobytes() for row in column] for column in columns], strict=True))
    assert set(found) <= set(used(early)) | set(used(late))
    assert set(used(early)) <= set(found)
    np.testing.assert_array_equal(np.sort(read.game[-len(rows) :]), np.sort(rows))


@pytest.mark.thorough
def test_whole_iterations_are_held_out(run):
    settings = supervise.load([str(run), "--source", "runs", "--examples.held-out", "0.25"])
    learned, held_out = supervised_data.prepare(settings, tictactoe.TicTacToe())
    positions = supervised_data.kept_positions(run, tictactoe.TicTacToe())
    assert len(learned.value) + len(held_out) == len(positions)
    assert set(held_out.game) == {i for i in positions.game if i % 4 == 0}
    np.testing.assert_array_equal(held_out.action, held_out.policy.argmax(axis=1))


@pytest.mark.thorough
def test_a_network_learns_from_runs(run, tmp_path, capsys):
    other = shutil.copytree(run, tmp_path / "other")
    flags = [run, other, "--source", "runs", "--start", run, "--folder", tmp_path / "pooled"]
    flags += ["--num-epochs", 10, "--examples.held-out", 0.5]
    assert commands.run("supervise", *flags) == 0
    assert "2 runs, " in capsys.readouterr().out
    variables, settings = network_files.load(tmp_path / "pooled" / "best")
    before, of_run = network_files.load(run)
    assert (settings.network, settings.search) == (of_run.network, of_run.search)
    pooled = first_network.load_run(tmp_path / "pooled" / "best")
    assert pooled.learner.learning_rate == first_network.load_run(run).learner.learning_rate
    assert pooled.learner.schedule == "cosine"
    assert [source.kind for source in settings.origin] == ["network", "teacher", "teacher"]
    changed = jax.tree.map(lambda a, b: not np.array_equal(a, b), before, variables)
    assert jax.tree.reduce(lambda a, b: a or b, changed)


def test_what_is_not_a_run_of_the_game_is_named(run, tmp_path):
    with pytest.raises(ValueError, match="a run of tictactoe, not of othello8"):
        supervised_data.kept_positions(run, othello.Othello())
    network_files.save(tmp_path / "exported", *network_files.load(run))
    with pytest.raises(ValueError, match="a network without the positions of its run"):
        supervised_data.kept_positions(tmp_path / "exported", tictactoe.TicTacToe())
    with pytest.raises(ValueError, match="--source runs needs the folders of runs"):
        supervise.load(["--source", "runs"])
