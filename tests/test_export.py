"""Exports by way of the entry point; what is in a network's folder, `test_checkpoint` says."""

import jax
import pytest
import tiny_run

from azo import checkpoint, config, export


def main(*arguments):
    return config.run_main(export.main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    with checkpoint.Checkpoints(folder, keep=1) as checkpoints:
        checkpoints.save(1, tiny_run.begin(1), tiny_run.settings(), 0.5)
    return folder


def test_an_export_holds_the_runs_network_and_settings_and_no_more(run, tmp_path, capsys):
    new = tmp_path / "checkpoints" / "mine"
    assert main(run, new) == 0
    assert capsys.readouterr().out.startswith(f"{run} exported to {new}, 0.")
    (variables, settings), (expected, _) = (checkpoint.load_params(x) for x in (new, run))
    tiny_run.assert_same_bits(variables, expected)
    assert settings == tiny_run.settings()
    assert sorted(path.name for path in new.iterdir()) == ["network", "settings.json"]


def test_the_best_checkpoint_is_taken_unless_the_latest_is_asked_for(tmp_path):
    first = tiny_run.begin(1)
    second = first.replace(learner=jax.tree.map(lambda x: x + 1, first.learner))
    with checkpoint.Checkpoints(tmp_path / "run", keep=1) as checkpoints:
        checkpoints.save(1, first, tiny_run.settings(), 0.75)
        checkpoints.save(2, second, tiny_run.settings(), 0.5)
    assert main(tmp_path / "run", tmp_path / "best") == 0
    assert main(tmp_path / "run", tmp_path / "last", "--latest") == 0
    for name, state in (("best", first), ("last", second)):
        variables, _ = checkpoint.load_params(tmp_path / name)
        tiny_run.assert_same_bits(variables["params"], state.variables()["params"])


def test_an_export_can_be_exported_again(run, tmp_path):
    assert main(run, tmp_path / "one") == 0
    assert main(tmp_path / "one", tmp_path / "two") == 0
    one, two = (checkpoint.load_params(tmp_path / name)[0] for name in ("one", "two"))
    tiny_run.assert_same_bits(one, two)


def test_nothing_is_written_over(run, tmp_path, capsys):
    (tmp_path / "thesis.tex").write_text("precious")
    assert main(run, tmp_path) == 2
    assert capsys.readouterr().err == f"{tmp_path}: exists already: choose a new folder\n"
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_run_that_does_not_exist_is_refused(tmp_path, capsys):
    assert main(tmp_path / "absent", tmp_path / "new") == 2
    message = f"{tmp_path}/absent: no such folder; give a run's or an exported network's\n"
    assert capsys.readouterr().err == message
    assert not (tmp_path / "new").exists()


def test_a_place_that_cannot_be_written_is_refused(run, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(run, tmp_path / "file" / "new") == 2
    message = f"{tmp_path}/file/new: cannot write here (Not a directory)\n"
    assert capsys.readouterr().err == message
