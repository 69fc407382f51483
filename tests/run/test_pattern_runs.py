"""Runs with pattern networks: stopped and resumed, and teachers of the other kind."""

import pathlib

import jax
import numpy as np
import pytest
from support import stop_after, tiny_run

from azo.learning import statistics
from azo.run import metrics, network_files, recovery, trainer

PATTERNS = {"kind": "patterns", "patterns": {"set": "small", "num_features": 2}}
TOWER = {"num_blocks": 1, "num_channels": 4, "value_units": 4}


def run(folder, network, **sections):
    chosen = {"folder": str(folder), "num_devices": 1, "num_iterations": 4}
    settings = tiny_run.settings(run=chosen, **sections)
    return settings.model_copy(update={"network": type(settings.network)(**network)})


def test_a_stopped_run_repeats_the_uninterrupted_one(tmp_path):
    states = []
    for name in ("whole", "parts"):
        settings = run(tmp_path / name, PATTERNS)
        if name == "parts":
            trainer.train(settings, stop_after.StopAfter(tmp_path / name, 2))
            assert len(metrics.read(tmp_path / name, "iteration")) == 2
        states.append(trainer.train(settings))
    tiny_run.assert_same_bits(*states)
    learned = np.asarray(states[0].learner.params["tables"])
    assert (learned != 0).any(axis=-1).sum() > 50


@pytest.mark.parametrize(
    "rate",
    [
        "table_feature_rate",
        pytest.param("table_logit_rate", marks=pytest.mark.slow),
        pytest.param("learning_rate", marks=pytest.mark.slow),
    ],
)
def test_weights_that_are_not_finite_stop_the_run_and_are_not_saved(tmp_path, rate):
    learner = tiny_run.SECTIONS["learner"] | {rate: 1e38, "schedule": "constant"}
    with pytest.raises(recovery.NotFiniteError, match="not finite in iteration"):
        trainer.train(run(tmp_path, PATTERNS, learner=learner))
    for path in (tmp_path / "checkpoints").glob("[0-9]*"):
        variables, _ = network_files.load(tmp_path, int(path.name))
        assert statistics.all_finite(variables)


@pytest.mark.slow
@pytest.mark.parametrize(("pupil", "teacher"), [(TOWER, PATTERNS), (PATTERNS, TOWER)])
def test_a_network_learns_from_the_games_of_one_of_the_other_kind(tmp_path, pupil, teacher):
    taught_by = tmp_path / "teacher"
    trainer.train(run(taught_by, teacher))
    settings = run(pathlib.Path(tmp_path / "pupil"), pupil, selfplay={"teacher": str(taught_by)})
    state = trainer.train(settings)
    tiny_run.assert_same_bits(
        jax.device_get(state.actor_params), jax.device_get(network_files.load(taught_by)[0])
    )
    assert int(state.learner.num_steps) > 0
    assert network_files.load(settings.run.folder)[1].network == settings.network
