"""Numbers that are infinite or NaN: found in the iteration, refused on loading, never saved."""

import json
import re
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.builders import tiny_run
from support.drivers import commands
from support.faults import damage

from azo.engine import engine_factory
from azo.games import registry
from azo.learning import learner, statistics
from azo.networks import exported_network, initial_variables, network_files
from azo.process import console
from azo.storage import files
from azo.training import checkpoint, config, metrics

POISONED = 6  # step from which the first rate is infinite


@pytest.fixture
def failing_rate(monkeypatch):
    """The learning rate becomes infinite after some steps."""
    rate_factor = learner.rate_factor

    def failing(recipe, num_steps, progress):
        return jnp.where(num_steps >= POISONED, jnp.inf, rate_factor(recipe, num_steps, progress))

    monkeypatch.setattr(learner, "rate_factor", failing)


@pytest.mark.thorough
def test_a_run_stops_at_a_number_that_is_not_finite_and_keeps_its_checkpoints(
    failing_rate, tmp_path, capsys
):
    run = tmp_path / "run"
    words = tiny_run.train(tmp_path, "--run.keep-checkpoints", 1, "--run.save-every", 1)
    message = commands.refused(capsys, *words)
    state = tiny_run.restored(run)
    step = int(state.iteration)
    assert f"not finite in iteration {step + 1}: " in message
    assert "parameters (see metrics.jsonl). Stopped: begin another run from" in message
    assert f"--run.start-from {run}) with a learner.learning_rate below 0.01" in message
    assert statistics.all_finite(state.learner)
    (record,) = metrics.read(run, "not_finite")
    assert record["iteration"] == step + 1
    assert "parameters" in record["not_finite"]
    assert record["selfplay/games"] > 0

    before = damage.contents(run / "checkpoints")
    commands.refused(capsys, *words)
    assert damage.contents(run / "checkpoints") == before


@pytest.mark.thorough
@pytest.mark.parametrize("num_devices", [1, 2])
def test_the_iteration_finds_bad_weights_on_all_devices(num_devices):
    state = tiny_run.begin(num_devices)
    params = jax.tree.map(lambda x: x.at[..., 0].set(jnp.inf), state.learner.params)
    bad = state.replace(learner=state.learner.replace(params=params))
    _, report = tiny_run.iteration(num_devices)(bad, 0.0)
    assert not report.finite["parameters"]
    assert not report.finite["search values"]
    _, report = tiny_run.iteration(num_devices)(tiny_run.begin(num_devices), 0.0)
    assert jax.tree.all(report.finite)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("name", ["losses", "gradient norm", "parameters"])
def test_each_number_is_checked_by_its_own(name, value):
    state = tiny_run.trained().learner
    losses = learner.all_losses(1)
    if name == "parameters":
        state = state.replace(params={"params": jnp.float32(value)})
    else:
        field = "score" if name == "losses" else "gradient_norm"
        losses = losses.replace(**{field: jnp.float32(value)})
    finite = statistics.check_finite(state, losses)
    assert [other for other, is_finite in finite.items() if not is_finite] == [name]


def warnings(**figures):
    return set(console.warnings({f"selfplay/{name}": x for name, x in figures.items()}))


def test_a_collapsed_policy_or_a_stuck_value_is_a_warning():
    healthy = {"prior_entropy": 0.67, "value_mean": -0.3, "value_deviation": 0.3}
    assert warnings(**healthy) == set()
    assert warnings(**healthy | {"prior_entropy": 0.01}) == {"collapsed policy"}
    for sign in (-1, 1):
        stuck = {"value_mean": sign * 0.9, "value_deviation": 0.1}
        assert warnings(**healthy | stuck) == {"stuck value"}
    # A fresh network: about 0 everywhere, so its sign means nothing.
    assert warnings(**healthy | {"value_mean": 0.02, "value_deviation": 0.001}) == set()
    assert warnings(value_mean=np.nan, value_deviation=np.nan, prior_entropy=np.nan) == set()


@pytest.mark.thorough
def test_a_warning_is_shown_once_and_written_to_the_metrics(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(console, "_COLLAPSED_ENTROPY", 100.0)
    assert commands.run(*tiny_run.train(tmp_path, "--run.num-iterations", 3)) == 0
    assert capsys.readouterr().out.count("warning: the policy has collapsed") == 1
    events = metrics.read(tmp_path / "run", "warning")
    assert [event["warning"] for event in events] == ["collapsed policy"]


# Networks that are loaded


def a_network(kind):
    chosen = config.Config(
        game={"size": 4},
        network={
            "kind": kind,
            "num_blocks": 1,
            "num_channels": 4,
            "patterns": {"num_features": 2, "has_move_counts": False},
        },
    )
    game = registry.make(chosen.game)
    return initial_variables.init(game, chosen.network, jax.random.key(0)), chosen


def changed(variables, value, kind):
    """Returns a network with one entry of one array changed."""
    name = "feature_bias" if kind == "patterns" else "score_output"
    leaf = variables["params"][name]
    bad = jax.tree.map(lambda x: x.at[(0,) * x.ndim].set(value), leaf)
    return variables | {"params": variables["params"] | {name: bad}}


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("kind", ["residual", "patterns"])
def test_a_network_that_is_not_finite_is_refused_everywhere(kind, value, tmp_path, capsys):
    variables, chosen = a_network(kind)
    network_files.save(tmp_path / "net", changed(variables, value, kind), chosen)
    game = ["--game.name", "othello", "--game.size", 4, "--replay.capacity", 512]
    words = [
        ["play", "--network", tmp_path / "net"],
        ["export", tmp_path / "net", tmp_path / "new"],
        ["evaluate", tmp_path / "net", "random", "--num-games", "2"],
        [*tiny_run.train(tmp_path), "--run.start-from", tmp_path / "net", *game],
        ["supervise", "--source", "search", "--player", tmp_path / "net"],
    ]
    for one in words:
        assert " infinite or NaN" in commands.refused(capsys, *one), one
    assert not (tmp_path / "new").exists()
    network_files.save(tmp_path / "good", variables, chosen)
    choice = engine_factory.NetworkChoice(network=tmp_path / "good")
    assert engine_factory.load_evaluator(choice).game.name == "othello4"


def test_a_checkpoint_that_is_not_finite_is_refused(tmp_path):
    state = tiny_run.begin(1)
    params = jax.tree.map(lambda x: x * jnp.nan, state.learner.params)
    bad = state.replace(
        iteration=jnp.ones_like(state.iteration), learner=state.learner.replace(params=params)
    )
    with checkpoint.Checkpoints(tmp_path, keep=1) as checkpoints:
        checkpoints.save(1, bad, tiny_run.settings())
        with pytest.raises(ValueError, match=r"checkpoints/1: weights or .* are infinite or NaN"):
            checkpoints.restore(tiny_run.begin(1))
    with pytest.raises(ValueError, match=r"checkpoints/1/network.npz: .* infinite or NaN"):
        network_files.load(tmp_path)


def saved(folder, arrays, chosen):
    """Writes an exported network with any arrays, and its checksums."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    exported_network.write(folder, arrays, config.to_json(chosen))
    files.write_checksums(folder)


def test_arrays_that_do_not_belong_to_the_settings_are_refused_unread(tmp_path, monkeypatch):
    variables, chosen = a_network("patterns")
    sound = network_files.named(jax.device_get(variables))
    name = min(sound)
    cases = {
        "array 'params/more' does not belong": sound | {"params/more": np.zeros(3, np.float32)},
        f"no array '{name}'": {key: x for key, x in sound.items() if key != name},
        f"array '{name}' is int32 of shape": sound | {name: sound[name].astype(np.int32)},
        f"array '{name}' is float32 of shape [999999]": sound | {name: np.zeros(999_999, "f4")},
    }
    monkeypatch.setattr(np.lib.format, "read_array", None)
    choice = engine_factory.NetworkChoice(network=tmp_path / "net")
    for message, arrays in cases.items():
        saved(tmp_path / "net", arrays, chosen)
        for load in (
            lambda: network_files.load(choice.network),
            lambda: engine_factory.load_evaluator(choice),
        ):
            with pytest.raises(ValueError, match=re.escape(message)):
                load()


def test_a_network_of_too_many_bytes_is_refused_before_its_file_is_read(tmp_path, monkeypatch):
    variables, chosen = a_network("residual")
    saved(tmp_path / "net", network_files.named(jax.device_get(variables)), chosen)
    tree = json.loads((tmp_path / "net" / exported_network.SETTINGS).read_text())
    tree["network"] |= {"num_blocks": 8, "num_channels": 4096}
    (tmp_path / "net" / exported_network.SETTINGS).write_text(json.dumps(tree))
    files.write_checksums(tmp_path / "net")
    monkeypatch.setattr(exported_network, "_header", None)
    with pytest.raises(ValueError, match=r"a network of 9\.\d GiB by its settings; at most 1 GiB"):
        network_files.load(tmp_path / "net")
