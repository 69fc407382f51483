"""The check of compiled programs: what it calls grown. CI runs the check itself."""

import json

import pytest

from benchmarks.accelerators import check, hlo, targets

STORED = {"search": {"kernels": 100, "host reads": 0, "KiB of memory": 10_000}}


def changed(**figures):
    return {"search": STORED["search"] | figures}


@pytest.fixture
def check_of(monkeypatch, tmp_path):
    """Returns a function that checks programs with given figures, and returns the exit code."""
    monkeypatch.setattr(check, "FILE", tmp_path / "check.json")
    monkeypatch.setattr(check.kernels, "trust", lambda: None)
    monkeypatch.setattr(targets, "prepare", lambda target: None)
    check.FILE.write_text(json.dumps({"h100": STORED, "v5e": {}}))

    class Lowered:
        def compile(self):
            return None

    def run(found, *flags):
        (name,) = found
        monkeypatch.setattr(check, "TARGETS", {"h100": lambda: {name: Lowered}})
        monkeypatch.setattr(check, "figures", lambda compiled: found[name])
        return check.main(["h100", *flags])

    return run


@pytest.mark.parametrize("unit", ["kernels", "KiB of memory"])
def test_growth_by_11_percent_fails_and_by_9_percent_passes(check_of, unit, capsys):
    before = STORED["search"][unit]
    assert check_of(changed(**{unit: before * 109 // 100})) == 0
    assert check_of(changed(**{unit: before * 111 // 100})) == 1
    error = capsys.readouterr().err
    assert f"{unit} {before:,} before, {before * 111 // 100:,} now" in error
    assert check.STORE in error


def test_the_first_host_read_fails(check_of):
    assert check_of(changed(**{"host reads": 1})) == 1


def test_a_program_that_is_not_stored_fails(check_of):
    assert check_of({"solver": {"kernels": 1}}) == 1


def test_smaller_figures_pass_with_a_line(check_of, capsys):
    assert check_of(changed(kernels=89)) == 0
    assert "kernels 100 before, 89 now, which may be stored" in capsys.readouterr().out


def test_new_figures_are_stored_beside_those_of_other_targets(check_of):
    assert check_of(changed(kernels=150), "--store") == 0
    assert json.loads(check.FILE.read_text()) == {"h100": changed(kernels=150), "v5e": {}}
    assert check_of(changed(kernels=150)) == 0


def test_figures_of_all_targets_are_stored():
    assert json.loads(check.FILE.read_text()).keys() == check.TARGETS.keys()


COUNTED = """
%body (p: (s32[])) -> (s32[]) {
  %one.1 = f32[2]{0} add(%x, %y), metadata={op_name="jit(f)/while/body/evaluation/add"}
}

%condition (p: (s32[])) -> pred[] {
  %end = s32[]{:T(128)} constant(LAST)
  %p = (s32[]{:T(128)}) parameter(0)
  %counter = s32[]{:T(128)} get-tuple-element(%p), index=0
  ROOT %lt = pred[]{:T(512)} compare(%counter, %end), direction=LT
}

ENTRY %main (p: (s32[])) -> (s32[]) {
  ROOT %loop = (s32[]) while(%p), condition=%condition, body=%body, metadata={op_name="SCOPE/while"}
}
"""


def test_a_loop_of_a_tpu_that_counts_to_a_constant_has_known_turns():
    (loop,) = hlo.read(COUNTED.replace("LAST", "32").replace("SCOPE", "jit(f)")).loops
    assert loop.turns == 32


def test_the_blocks_of_a_network_are_kernels_of_the_loop_around_them():
    program = hlo.read(COUNTED.replace("LAST", "8").replace("SCOPE", "jit(f)/evaluation/cond"))
    assert not program.loops
    assert len(program.kernels("evaluation")) == 8


def test_a_loop_to_a_number_in_the_data_has_unknown_turns():
    text = COUNTED.replace("constant(LAST)", "get-tuple-element(%p), index=1")
    assert hlo.read(text.replace("SCOPE", "jit(f)")).loops[0].turns is None
