"""The clock of `--minutes`, with compilation."""

import types

import pytest

from azo.training import config, run_clock, trainer


def _clock(tmp_path, minutes):
    changes = {"minutes": minutes, "run.folder": str(tmp_path), "run.num_iterations": 9}
    return run_clock.RunClock(config.with_settings(config.Config(), changes))


def _after(clock, monkeypatch, seconds):
    """Returns the minutes of an iteration that ends when so many seconds have passed."""
    monkeypatch.setattr(run_clock.time, "monotonic", lambda: clock._begun + seconds)
    with clock.iteration():
        pass
    return clock.minutes


@pytest.mark.parametrize(
    ("minutes", "compilations", "uncounted"),
    [(10, [60], 0), (10, [100, 49], 0), (2, [110], 80), (2, [20, 20, 30], 40), (None, [500], 0)],
)
def test_compilation_counts_for_at_most_a_quarter_of_the_minutes(
    tmp_path, monkeypatch, minutes, compilations, uncounted
):
    monkeypatch.setattr(run_clock.time, "monotonic", lambda: 1000.0)
    clock = _clock(tmp_path, minutes)
    clock._begun = 1000.0
    assert sum(map(clock.add_compilation, compilations)) == pytest.approx(uncounted)
    # A run of 2 minutes whose programs took 110 s has 90 s left to train.
    passed = sum(compilations) + 12
    expected = (passed - uncounted) / 60
    assert _after(clock, monkeypatch, passed) == pytest.approx(expected)


@pytest.mark.parametrize(("seconds", "shown"), [([40, 0.001, 0.2], 1), ([40, 20], 2), ([5], 0)])
def test_a_line_tells_of_compilation_only_where_there_was_some(
    tmp_path, monkeypatch, seconds, shown
):
    """Each iteration looks for its program, which takes no time once it is compiled."""
    now, lines = [1000.0], []
    for module in (run_clock, trainer):
        monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    clock = _clock(tmp_path, 2)
    run = types.SimpleNamespace(
        clock=clock, settings=clock._settings, screen=types.SimpleNamespace(note=lines.append)
    )
    for one in seconds:
        with trainer.Trainer.compiling(run):
            now[0] += one
    assert len(lines) == shown
    assert all("--minutes 2 does not count" in line for line in lines)
