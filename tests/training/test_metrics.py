import json

import jax.numpy as jnp
import numpy as np
import pytest

from azo.training import metrics


def curves(folder):
    """The content of the file of curves, in which the names of all can be read."""
    (path,) = (folder / "tensorboard").iterdir()
    return path.read_bytes()


def test_an_event_is_one_line_of_json_and_a_curve(tmp_path):
    with metrics.MetricsWriter(tmp_path) as writer:
        writer.write("iteration", 1, {"learner/loss": jnp.float32(0.5), "selfplay/games": 3})
        assert len(metrics.read(tmp_path)) == 1  # on disk before the writer is closed
    (line,) = metrics.read(tmp_path)
    assert line == {"event": "iteration", "iteration": 1, "learner/loss": 0.5, "selfplay/games": 3}
    assert b"learner/loss" in curves(tmp_path)


def test_arrays_are_lists_of_few_digits_and_no_curves_and_only_finite_numbers_are_written(tmp_path):
    with metrics.MetricsWriter(tmp_path) as writer:
        fields = {
            "list/a": np.array([1.23456, np.nan, -np.inf]),
            "list/b": jnp.array([[1, 2], [3, 4]]),
            "selfplay/total": np.array(3),
            "x": float("nan"),
            "y": np.inf,
        }
        writer.write("iteration", 1, fields)
    (line,) = metrics.read(tmp_path)
    assert line["list/a"] == [1.2346, None, None]
    assert line["list/b"] == [[1, 2], [3, 4]]
    assert (line["selfplay/total"], line["x"], line["y"]) == (3, None, None)
    assert b"selfplay/total" in curves(tmp_path)
    assert b"list/" not in curves(tmp_path)


def test_a_resumed_run_repeats_no_line_and_loses_none(tmp_path):
    with metrics.MetricsWriter(tmp_path) as writer:
        for iteration in (1, 2, 3, 4):
            writer.write("iteration", iteration, {"session": "first"})
    with metrics.MetricsWriter(tmp_path, last_iteration=2) as writer:
        writer.write("iteration", 3, {"session": "second"})
        writer.write("warning", 3, {"session": "second"})
    events = [(line["iteration"], line["session"]) for line in metrics.read(tmp_path, "iteration")]
    assert events == [(1, "first"), (2, "first"), (3, "second")]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"event": "evaluation", "evaluation/opponent": "x"}, "no evaluation/score"),
        ({"event": "evaluation", "evaluation/score": "0.5"}, "evaluation/score: Input should"),
        ({"event": "end", "reason": 5}, "reason: Input should be a valid string"),
        ({"event": "iteration", "time/training_seconds": []}, "time/training_seconds: Input"),
        ({"event": "iteration", "selfplay/games": 10**400}, "selfplay/games"),
        ({"event": "iteration", "iteration": -1}, "iteration: Input should be greater"),
        ({"event": "rating", "rating/elo": None}, "no rating/elo"),
        ({"event": "iteration", "x": float("nan")}, "x."),
    ],
)
def test_an_event_with_a_wrong_field_is_skipped_and_named(tmp_path, capsys, fields, reason):
    held_out = {"event": "evaluation", "iteration": 1, "held_out/accuracy": 0.5}
    lines = [held_out, {"iteration": 2} | fields]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert metrics.read(tmp_path) == lines[:1]
    message = capsys.readouterr().err
    assert f"metrics.jsonl: damaged, skipped: line 2 ({reason}" in message
    assert message.count("\n") == 1
