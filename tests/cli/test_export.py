"""Exports by way of the entry point; what is in a network's folder, `test_checkpoint` says."""

import functools
import json

import jax
import numpy as np
import pytest
from support.builders import tiny_run
from support.drivers import commands

from azo.networks import initial_variables, network_files
from azo.training import checkpoint, first_network

FILES = {"SHA256SUMS", "network.npz", "settings.json"}

main = functools.partial(commands.run, "export")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    with checkpoint.Checkpoints(folder, keep=1) as checkpoints:
        settings = tiny_run.settings().model_copy(update={"origin": ()})
        checkpoints.save(1, tiny_run.begin(1), settings, 0.5)
    return folder


def test_an_export_holds_the_runs_network_and_settings_and_no_more(run, tmp_path, capsys):
    new = tmp_path / "checkpoints" / "mine"
    assert main(run, new) == 0
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{run} exported to {new}, 0.")
    assert last == "learned from the rules alone"
    (variables, settings), (expected, _) = (network_files.load(x) for x in (new, run))
    tiny_run.assert_same_bits(variables, expected)
    assert first_network.load_run(new) == tiny_run.settings().model_copy(update={"origin": ()})
    assert settings.network == tiny_run.settings().network
    assert {path.name for path in new.iterdir()} == FILES


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


def test_a_refused_export_is_one_line_and_writes_nothing(run, tmp_path, capsys):
    message = commands.refused(capsys, "export", run, tmp_path / "new", "--compact")
    assert message == "--compact rounds tables; a network of kind 'residual' has none"
    assert list(tmp_path.iterdir()) == []


def test_a_compact_export_has_rounded_tables(tmp_path):
    config = {
        "kind": "patterns",
        "patterns": {"set": "small", "num_features": 3, "has_move_counts": False},
    }
    settings = tiny_run.settings(network=config)
    variables = initial_variables.init(tiny_run.game(), settings.network, jax.random.key(0))
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


def test_a_portable_export_says_what_its_programs_take_and_give(run, tmp_path):
    new = tmp_path / "new"
    assert main(run, new, "--portable", "--batch-size", 3) == 0
    assert {path.name for path in new.iterdir()} == FILES | {"portable"}
    said = json.loads((new / "portable" / "network.json").read_text())
    names = sorted(path.name for path in (new / "portable").iterdir())
    assert names == sorted([*said["files"], "network.json"])
    assert said["game"]["name"] == "tictactoe"
    assert said["input"]["planes"]["shape"] == ["b", 3, 3, 2]
    assert said["output"]["logits"]["shape"] == ["b", 9]
    assert said["made"]["from"] == "run"
    program = {"form": "StableHLO", "b": 3, "convolutions": "float32"}
    assert said["files"]["network-cpu.mlirbc"] == program
    bfloat16 = program | {"convolutions": "bfloat16"}
    assert said["files"]["network-accelerator.mlirbc"] == bfloat16
