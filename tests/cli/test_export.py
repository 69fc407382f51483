"""Exports by way of the entry point; what is in a network's folder, `test_checkpoint` says."""

import json

import jax
import jax.export
import numpy as np
import pytest
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from support import tiny_run

from azo.cli import command_line, export
from azo.learning import network
from azo.run import checkpoint, network_files


def main(*arguments):
    return command_line.run_main(export.main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    with checkpoint.Checkpoints(folder, keep=1) as checkpoints:
        checkpoints.save(1, tiny_run.begin(1), tiny_run.settings(), 0.5)
    return folder


def test_an_export_holds_the_runs_network_and_settings_and_no_more(run, tmp_path, capsys):
    new = tmp_path / "checkpoints" / "mine"
    assert main(run, new) == 0
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{run} exported to {new}, 0.")
    assert last == "learned from the rules alone"
    (variables, settings), (expected, _) = (network_files.load(x) for x in (new, run))
    tiny_run.assert_same_bits(variables, expected)
    assert settings == tiny_run.settings().model_copy(update={"origin": ()})
    assert sorted(path.name for path in new.iterdir()) == [
        "SHA256SUMS",
        "network.npz",
        "settings.json",
    ]


def test_the_best_checkpoint_is_taken_unless_the_latest_is_requested(tmp_path):
    first = tiny_run.begin(1)
    second = first.replace(learner=jax.tree.map(lambda x: x + 1, first.learner))
    with checkpoint.Checkpoints(tmp_path / "run", keep=1) as checkpoints:
        checkpoints.save(1, first, tiny_run.settings(), 0.75)
        checkpoints.save(2, second, tiny_run.settings(), 0.5)
    assert main(tmp_path / "run", tmp_path / "best") == 0
    assert main(tmp_path / "run", tmp_path / "last", "--latest") == 0
    for name, state in (("best", first), ("last", second)):
        variables, _ = network_files.load(tmp_path / name)
        tiny_run.assert_same_bits(variables["params"], state.variables()["params"])


def test_an_export_can_be_exported_again(run, tmp_path):
    assert main(run, tmp_path / "one") == 0
    assert main(tmp_path / "one", tmp_path / "two") == 0
    one, two = (network_files.load(tmp_path / name)[0] for name in ("one", "two"))
    tiny_run.assert_same_bits(one, two)


def test_nothing_is_written_over(run, tmp_path, capsys):
    (tmp_path / "thesis.tex").write_text("precious")
    assert main(run, tmp_path) == 2
    assert capsys.readouterr().err == f"{tmp_path}: exists already: choose a new folder\n"
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_run_that_does_not_exist_is_refused(tmp_path, capsys):
    assert main(tmp_path / "absent", tmp_path / "new") == 2
    message = f"{tmp_path}/absent: no such folder; give that of a run or an exported network, "
    assert capsys.readouterr().err.startswith(message)
    assert not (tmp_path / "new").exists()


def test_a_place_that_cannot_be_written_is_refused(run, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(run, tmp_path / "file" / "new") == 2
    message = f"{tmp_path}/file/new: cannot write here (Not a directory)\n"
    assert capsys.readouterr().err == message


def test_a_compact_export_has_rounded_tables(tmp_path):
    config = {"kind": "patterns", "patterns": {"set": "small", "num_features": 3}}
    settings = tiny_run.settings(network=config)
    variables = network.init(tiny_run.game(), settings.network, jax.random.key(0))
    shape = variables["params"]["tables"].shape
    tables = jax.random.normal(jax.random.key(1), shape)
    network_files.save(
        tmp_path / "whole", {"params": variables["params"] | {"tables": tables}}, settings
    )
    assert main(tmp_path / "whole", tmp_path / "compact", "--compact") == 0
    found = network_files.load(tmp_path / "compact")[0]["params"]
    np.testing.assert_allclose(found["tables"], tables, rtol=0, atol=0.5 / 512 + 1e-6)
    assert np.all(found["tables"] * 512 == np.rint(found["tables"] * 512))
    tiny_run.assert_same_bits(found["score_output"], variables["params"]["score_output"])
    sizes = [(tmp_path / name / "network.npz").stat().st_size for name in ("whole", "compact")]
    assert sizes[1] < 0.7 * sizes[0]


def test_only_tables_are_made_compact(run, tmp_path, capsys):
    assert main(run, tmp_path / "new", "--compact") == 2
    message = "--compact rounds tables; a network of kind 'residual' has none\n"
    assert capsys.readouterr().err == message
    assert not (tmp_path / "new").exists()


@pytest.fixture(scope="module")
def portable(run, tmp_path_factory):
    """A folder with programs, and what `network.json` says of them."""
    new = tmp_path_factory.mktemp("portable") / "new"
    assert main(run, new, "--portable", "--batch-size", 3) == 0
    assert sorted(path.name for path in new.iterdir()) == [
        "SHA256SUMS",
        "network.npz",
        "portable",
        "settings.json",
    ]
    return new, json.loads((new / "portable" / "network.json").read_text())


def test_a_portable_export_says_what_its_programs_take_and_give(portable):
    new, said = portable
    names = sorted(path.name for path in (new / "portable").iterdir())
    assert names == sorted([*said["files"], "network.json"])
    assert said["game"]["name"] == "tictactoe"
    assert said["input"]["planes"]["shape"] == ["b", 3, 3, 2]
    assert said["output"]["logits"]["shape"] == ["b", 9]
    assert said["output"]["logits"]["meaning"].endswith("move row * 3 + column is a square")
    assert said["made"]["from"] == "run"


def test_the_program_for_jax_is_the_exported_network(portable):
    new, said = portable
    program = jax.export.deserialize((new / "portable" / "network.jaxexport").read_bytes())
    assert list(program.platforms) == said["files"]["network.jaxexport"]["platforms"]
    variables, settings = network_files.load(new)
    planes = np.eye(9, 18, dtype=np.float32).reshape(9, 3, 3, 2)
    apply = network.build(tiny_run.game(), settings.network).apply
    expected = jax.jit(apply)(variables, planes)
    logits, value = jax.jit(program.call)(planes)
    np.testing.assert_allclose(logits, expected.prior_logits, rtol=0, atol=1e-5)
    np.testing.assert_allclose(value, expected.value, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("kind", "number"), [("cpu", "float32"), ("accelerator", "bfloat16")])
def test_the_stablehlo_programs_have_the_requested_batch_size(portable, kind, number):
    new, said = portable
    file = f"network-{kind}.mlirbc"
    assert said["files"][file] == {"form": "StableHLO", "b": 3, "convolutions": number}
    with ir.Context() as context:
        stablehlo.register_dialect(context)
        content = (new / "portable" / file).read_bytes()
        text = str(stablehlo.deserialize_portable_artifact(context, content))
    takes = next(line for line in text.splitlines() if "@main" in line)
    assert "(%arg0: tensor<3x3x3x2xf32>) -> (tensor<3x9xf32>" in takes
    assert ("bf16" in text) == (number == "bfloat16")


def test_a_batch_size_without_programs_to_have_it_is_refused(run, tmp_path, capsys):
    assert main(run, tmp_path / "new", "--batch-size", 8) == 2
    message = "--batch-size is for the programs of --portable; a network takes any\n"
    assert capsys.readouterr().err == message
    assert not (tmp_path / "new").exists()
