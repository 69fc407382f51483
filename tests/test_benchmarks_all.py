"""Continuing an interrupted run of all benchmarks, and timings that other work has disturbed."""

import math

from support.builders import tiny_run

from benchmarks import all as every
from benchmarks import iteration, measure

SECTIONS = (every.Section("Memory", "memory"), every.Section("Rules", "rules"))


def run(monkeypatch, folder, outputs, preset="tiny"):
    """Runs two benchmarks with the given outputs; returns the exit code and the modules run."""
    done = []

    def output(section, seconds):
        done.append(section.module)
        return outputs[section.module]

    monkeypatch.setattr(every, "_output", output)
    monkeypatch.setitem(every.PRESETS, preset, SECTIONS)
    readme = folder / "readme.md"
    readme.write_text("<!-- tiny: begin -->\n<!-- tiny: end -->\n")
    code = every.main(["--preset", preset, "--readme", str(readme), "--folder", str(folder / "a")])
    return code, done, readme.read_text()


def test_complete_benchmarks_are_not_measured_again(monkeypatch, tmp_path):
    cut = {"memory": "bytes\n", "rules": f"{every.LEFT_OUT}no time\n"}
    code, done, _ = run(monkeypatch, tmp_path, cut)
    assert (code, done) == (0, ["memory", "rules"])
    code, done, readme = run(monkeypatch, tmp_path, {"rules": "plies\n"})
    assert (code, done) == (0, ["rules"])
    assert "bytes" in readme
    assert "plies" in readme


def test_benchmark_that_fails_does_not_keep_others_from_running(monkeypatch, tmp_path):
    code, done, readme = run(monkeypatch, tmp_path, {"memory": None, "rules": "plies\n"})
    assert (code, done) == (1, ["memory", "rules"])
    assert "plies" not in readme
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["02-rules.md"]


def learning_row(whole, playing):
    timings = {
        name: measure.Timing(seconds, seconds, has_one_core=False)
        for name, seconds in {"whole": whole, "playing": playing, "network": whole}.items()
    }
    mesh = iteration.sharding.make_mesh(1)
    return iteration._rows(tiny_run.settings(), mesh, timings, num_games=4)[-1]


def test_learning_has_no_rate_if_playing_took_longer_than_the_whole_iteration():
    """The difference counted as a nanosecond, which made 6,000,000,000 steps a second."""
    _, seconds, share, speed = learning_row((1.0, 1.2, 0.9), (1.1, 1.4, 1.0))
    never = "not measurable (not measurable to not measurable)"
    assert (seconds, share) == ("-0.1 (-0.2 to -0.1)", never)
    assert speed == f"{never} steps/s; {never} examples/s"
    steps = tiny_run.settings().learner.num_steps  # in a second; one turn of three is disturbed
    *_, speed = learning_row((2.0, 1.0, 2.0), (1.0, 1.5, 1.0))
    assert speed.startswith(f"{steps} ({steps} to not measurable) steps/s")


def test_a_ratio_without_a_part_needs_both_times():
    ratio = measure.speedup(measure.less((3.0, 2.0, 1.0), (1.0, 1.0, 2.0)), (6.0, 3.0, 5.0))
    assert (ratio.low, ratio.median, ratio.high) == (3.0, 3.0, math.inf)
