"""Endings solved on the host before a run: their lines, the file, and what is learned of them."""

import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import tiny_run

from azo.formats import obf
from azo.games import othello
from azo.learning import endings, loop, placement
from azo.run import checkpoint, config, deep_endings, interruption, metrics, trainer

GAME = othello.Othello(6)
NUM, LEAST, MOST = 12, 5, 8  # endings, and their empty squares


def settings(folder, **changed):
    """Settings of a run that learns from few endings with 5 to 8 empty squares."""
    solved = {"deep_positions": NUM, "min_empties": LEAST, "max_empties": MOST, "made_share": 0.5}
    return tiny_run.settings(
        game={"name": "othello", "size": 6},
        learner={"num_steps": 8},
        endings=solved | changed,
        run={"folder": str(folder), "num_iterations": 3},
    )


def prepare(chosen, stop_after=None):
    """Prepares, with a request to stop after so many solved endings."""
    calls = []

    def is_stopped():
        calls.append(None)
        return len(calls) == stop_after

    with metrics.MetricsWriter(chosen.run.folder) as writer:
        return jax.device_get(deep_endings.prepare(chosen, GAME, writer, is_stopped))


def records_in(folder):
    return [json.loads(line) for line in (folder / deep_endings.FILE).read_text().splitlines()]


@functools.partial(jax.jit, static_argnums=2)
def by_device(board, is_wanted, num_empties):
    """The same by the other solver: the first position of each line, and all its best moves."""
    lines = endings.solve(
        GAME, jax.random.key(0), GAME.unpack(board), is_wanted, max_empties=num_empties
    )
    return lines.board[0], lines.policy[0], lines.score[0]


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """The folder of endings solved at one go, and their lines."""
    folder = tmp_path_factory.mktemp("solved")
    return folder, prepare(settings(folder))


@pytest.mark.slow
def test_lines_hold_the_exact_results_and_all_best_moves_of_the_other_solver(solved):
    _, lines = solved
    k, m = np.nonzero(lines.is_valid)
    assert len(k) > LEAST * NUM
    assert lines.is_valid[0].all()
    boards = jnp.asarray(lines.board[k, m])
    same, policy, score = by_device(boards, jnp.ones(len(k), bool), MOST)
    np.testing.assert_array_equal(same, boards)
    np.testing.assert_array_equal(lines.policy[k, m], policy)
    np.testing.assert_array_equal(lines.score[k, m], score)
    assert (policy > 0).sum(axis=1).max() > 1
    assert len(set(score.tolist())) > 1


@pytest.mark.slow
def test_lines_are_games_to_the_end(solved):
    _, lines = solved
    end = GAME.unpack(jnp.asarray(lines.end))
    assert GAME.is_over(end).all()
    np.testing.assert_array_equal(lines.score[0], lines.sign[0] * np.asarray(GAME.score(end)))
    begin = GAME.unpack(jnp.asarray(lines.board[0]))
    num_played = np.asarray(GAME.num_empties(begin) - GAME.num_empties(end))
    np.testing.assert_array_equal(lines.is_valid.sum(axis=0), num_played)
    assert num_played.max() >= LEAST


@pytest.mark.slow
def test_what_was_stopped_goes_on_and_ends_alike(solved, tmp_path):
    folder, lines = solved
    assert prepare(settings(tmp_path), stop_after=3) is None
    assert len(records_in(tmp_path)) == 3
    kept = (tmp_path / deep_endings.FILE).stat().st_mtime_ns
    again = prepare(settings(tmp_path))
    assert (tmp_path / deep_endings.FILE).stat().st_mtime_ns > kept
    tiny_run.assert_same_bits(again, lines)
    for ours, theirs in zip(records_in(tmp_path), records_in(folder), strict=True):
        assert {**ours, "seconds": 0} == {**theirs, "seconds": 0}


def test_endings_of_other_settings_are_refused(solved):
    folder, _ = solved
    with pytest.raises(ValueError, match="endings solved with other settings: choose another"):
        prepare(settings(folder, made_share=0.0))


@pytest.mark.slow
def test_selective_deep_endings_are_not_mixed_with_exact_ones(tmp_path):
    deep = {"min_empties": 19, "max_empties": 20, "deep_positions": 6}
    prepare(settings(tmp_path, confidence=0.95, **deep))
    records = records_in(tmp_path)
    empties = [record["board"].count("-") for record in records]
    assert set(empties) == {19, 20}
    assert all(
        record["confidence"] == (0.95 if count == 20 else 1)
        for record, count in zip(records, empties, strict=True)
    )
    assert "confidence 0.95" in (tmp_path / deep_endings.HARD_FILE).read_text()
    with pytest.raises(ValueError, match="endings solved with other settings"):
        prepare(settings(tmp_path, confidence=1.0, **deep))


def test_hard_endings_can_be_solved_again(solved):
    folder, _ = solved
    hard = obf.read(folder / deep_endings.HARD_FILE)
    assert len(hard) == NUM
    nodes = [record["nodes"] for record in records_in(folder)]
    first = (folder / deep_endings.HARD_FILE).read_text().splitlines()[0]
    assert f"{max(nodes)} nodes" in first


def test_too_few_different_endings_are_a_clear_error(tmp_path):
    few = config.with_settings(  # there are four first moves
        settings(tmp_path, min_empties=11, max_empties=11, made_share=0.0, deep_positions=8),
        {"game.size": 4},
    )
    with pytest.raises(ValueError, match="but only 4 different endings were drawn with 11 to 11"):
        deep_endings.draw(othello.Othello(4), few)


@pytest.mark.slow
@pytest.mark.parametrize("num_devices", [1, 2])
def test_a_run_learns_from_them_alone_and_resumes_without_them(tmp_path, num_devices, capsys):
    chosen = config.with_settings(
        settings(tmp_path), {"run.num_devices": num_devices, "run.num_iterations": 12}
    )
    with interruption.StopRequest() as stop:
        state = trainer.train(chosen, stop)
    assert f"solved {NUM} endings" in capsys.readouterr().out
    assert int(state.num_games) == 0
    assert int(state.replay.size.sum()) > LEAST * NUM
    assert (np.asarray(state.replay.size) > 0).all()
    events = metrics.read(tmp_path, "iteration")
    assert events[-1]["learner/value_loss"] < events[0]["learner/value_loss"]
    assert metrics.read(tmp_path, "endings")[0]["endings/solved"] == NUM

    (tmp_path / deep_endings.FILE).unlink()
    longer = config.with_settings(chosen, {"run.num_iterations": 13})
    checkpoint.Checkpoints(tmp_path, keep=1).check_resumable(longer)
    resumed = trainer.train(longer)
    assert int(resumed.iteration) == 13
    assert not (tmp_path / deep_endings.FILE).exists()


@pytest.mark.slow
def test_the_rings_of_two_devices_hold_what_one_ring_does(solved):
    folder, lines = solved
    chosen = settings(folder)
    rings = []
    for num_devices in (1, 2):
        mesh = placement.make_mesh(num_devices)
        state = placement.begin(GAME, chosen, mesh, seed=0)
        ring = jax.device_get(loop.fill(GAME, chosen, mesh, state, lines)).replay
        rows = ring.value.shape[0] // num_devices
        used = [r * rows + i for r in range(num_devices) for i in range(ring.size[r])]
        rings.append({(ring.board[row].tobytes(), float(ring.value[row])) for row in used})
    assert rings[0] == rings[1]


def test_settings_that_cannot_be_solved_are_refused(tmp_path):
    def refused(match, **changed):
        with pytest.raises(ValueError, match=match):
            settings(tmp_path, **changed)

    refused("less than or equal to 26", max_empties=27)
    refused("at most 14 empty squares", deep_positions=0, num_positions=8, max_empties=15)
    refused("both set", num_positions=8)
    refused("raise it to 800", deep_positions=100)
    refused("greater than or equal to 0.9", confidence=0.5)
    refused("confidence 0.99: from 0.9 to 0.98, or 1 for exact", confidence=0.99)
    with pytest.raises(
        ValueError, match="selective solving is for 8x8 normal, 6x6 normal, not 4x4"
    ):
        config.with_settings(settings(tmp_path, confidence=0.95), {"game.size": 4})
    with pytest.raises(ValueError, match="replaces self-play"):
        config.with_settings(settings(tmp_path), {"generation.num_games": 8})
    with pytest.raises(ValueError, match="12, but should be a multiple of 8"):
        config.with_settings(settings(tmp_path), {"run.num_devices": 8})
