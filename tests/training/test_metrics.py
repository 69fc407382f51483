import json

import jax.numpy as jnp
import numpy as np
import pytest

from azo.training import metrics


def test_an_event_is_one_line_of_json_with_finite_numbers_and_a_curve_for_each_alone(tmp_path):
    fields = {
        "learner/loss": jnp.float32(0.5),
        "list/a": np.array([1.23456, np.nan, -np.inf]),
        "list/b": jnp.array([[1, 2], [3, 4]]),
        "selfplay/total": np.array(3),
        "x": float("nan"),
        "y": np.inf,
    }
    with metrics.MetricsWriter(tmp_path) as writer:
        writer.write("iteration", 1, fields)
        (line,) = metrics.read(tmp_path)  # on disk before the writer is closed
    expected = {"learner/loss": 0.5, "list/a": [1.2346, None, None], "list/b": [[1, 2], [3, 4]]}
    expected |= {"selfplay/total": 3, "x": None, "y": None}
    assert line == {"event": "iteration", "iteration": 1} | expected
    (path,) = (tmp_path / "tensorboard").iterdir()
    curves = path.read_bytes()
    assert b"learner/loss" in curves
    assert b"selfplay/total" in curves
    assert b"list/" not in curves


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
