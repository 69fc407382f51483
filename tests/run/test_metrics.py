import json
import struct

import jax.numpy as jnp
import numpy as np
import pytest
from tensorboardX.proto import event_pb2

from azo.run import metrics


def tensorboard_events(path):
    """The events of a file: each has 12 bytes before it, the first 8 its length, and 4 after it."""
    content, start = path.read_bytes(), 0
    while start < len(content):
        (length,) = struct.unpack("<Q", content[start : start + 8])
        yield event_pb2.Event.FromString(content[start + 12 : start + 12 + length])
        start += 16 + length


def curve_files(folder):
    return list((folder / "tensorboard").iterdir())


def test_an_event_is_one_line_of_json_and_a_curve(tmp_path):
    with metrics.MetricsWriter(tmp_path) as writer:
        writer.write("iteration", 1, {"learner/loss": 0.5, "selfplay/games": 3})
    line = (tmp_path / "metrics.jsonl").read_text()
    assert json.loads(line) == {
        "event": "iteration",
        "iteration": 1,
        "learner/loss": 0.5,
        "selfplay/games": 3,
    }
    (curves,) = curve_files(tmp_path)
    assert b"learner/loss" in curves.read_bytes()


def test_events_of_which_an_iteration_has_several_are_no_curves(tmp_path):
    with metrics.MetricsWriter(tmp_path) as writer:
        for wins in (3, 5):
            writer.write("rating_match", 1, {"rating_match/wins": wins}, has_curves=False)
    assert [event["rating_match/wins"] for event in metrics.read(tmp_path)] == [3, 5]
    (curves,) = curve_files(tmp_path)
    assert b"rating_match" not in curves.read_bytes()


def test_an_event_is_on_disk_before_the_writer_is_closed(tmp_path):
    with metrics.MetricsWriter(tmp_path) as writer:
        writer.write("iteration", 1, {})
        assert len(metrics.read(tmp_path)) == 1


@pytest.mark.parametrize("number", [2.5, np.float32(2.5), jnp.float32(2.5), np.array(2.5)])
def test_numbers_of_arrays_are_written_as_numbers(tmp_path, number):
    with metrics.MetricsWriter(tmp_path) as writer:
        writer.write("iteration", 1, {"x": number})
    assert metrics.read(tmp_path)[0]["x"] == 2.5


def test_arrays_are_written_as_lists_of_few_digits_and_are_no_curves(tmp_path):
    with metrics.MetricsWriter(tmp_path) as writer:
        fields = {
            "a": np.array([1.23456, np.nan, -np.inf]),
            "b": jnp.array([[1, 2], [3, 4]]),
            "selfplay/total": 3,
        }
        writer.write("iteration", 1, fields)
    (line,) = metrics.read(tmp_path)
    assert line["a"] == [1.2346, None, None]
    assert line["b"] == [[1, 2], [3, 4]]
    tags = {
        value.tag
        for path in curve_files(tmp_path)
        for event in tensorboard_events(path)
        for value in event.summary.value
    }
    assert tags == {"selfplay/total"}


def test_numbers_that_are_not_finite_become_null(tmp_path):
    with metrics.MetricsWriter(tmp_path) as writer:
        writer.write("iteration", 1, {"x": float("nan"), "y": np.inf})
    assert metrics.read(tmp_path) == [{"event": "iteration", "iteration": 1, "x": None, "y": None}]


def test_a_resumed_run_repeats_no_line_and_loses_none(tmp_path):
    with metrics.MetricsWriter(tmp_path) as writer:
        for iteration in (1, 2, 3, 4):
            writer.write("iteration", iteration, {"session": "first"})
    with metrics.MetricsWriter(tmp_path, last_iteration=2) as writer:
        writer.write("iteration", 3, {"session": "second"})
    events = [(line["iteration"], line["session"]) for line in metrics.read(tmp_path)]
    assert events == [(1, "first"), (2, "first"), (3, "second")]


def test_a_line_that_a_crash_cut_short_is_dropped(tmp_path):
    whole = '{"event": "iteration", "iteration": 1}\n'
    (tmp_path / "metrics.jsonl").write_text(whole + '{"event": "iter')
    with metrics.MetricsWriter(tmp_path, last_iteration=5) as writer:
        writer.write("iteration", 6, {})
    assert [line["iteration"] for line in metrics.read(tmp_path)] == [1, 6]


def test_events_are_read_by_kind(tmp_path):
    with metrics.MetricsWriter(tmp_path) as writer:
        writer.write("iteration", 1, {})
        writer.write("evaluation", 1, {"evaluation/score": 0.75})
    assert metrics.read(tmp_path, "evaluation") == [
        {"event": "evaluation", "iteration": 1, "evaluation/score": 0.75}
    ]
