"""Continuing an interrupted run of all benchmarks."""

from benchmarks import all as every

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
