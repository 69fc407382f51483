"""Phases one after the other, and runs that begin with another's network."""

import signal

import jax
import numpy as np
import pytest
from support.builders import tiny_run

from azo.matches import run_matches
from azo.networks import initial_variables, network_files
from azo.process import interruption
from azo.training import config, curriculum, metrics, trainer

NOTHING_LEARNED = {"replay.min_positions": 128}  # as many as the ring has rows


def of_phases(folder, *phases):
    """Settings of a curriculum with the phases given as pairs of name and settings."""
    listed = [{"name": name, "set": changes} for name, changes in phases]
    run = {"folder": str(folder), "num_devices": 1, "save_every": 1, "num_iterations": 3}
    return tiny_run.settings(run=run).model_copy(
        update={"curriculum": tuple(config.Phase(**phase) for phase in listed)}
    )


def network_in(folder):
    return jax.device_get(network_files.load(folder)[0])


def train_phases(settings):
    with interruption.StopRequest() as stop:
        curriculum.train(settings, stop, run_matches.RunMatches)


@pytest.mark.slow
def test_phases_hand_on_their_networks_and_end_by_their_matches(tmp_path, scores, capsys):
    until = {"evaluation.every": 2, "evaluation.until_score": 0.6, "run.num_iterations": 50}
    once = NOTHING_LEARNED | {"run.num_iterations": 1}
    taught = {"selfplay.teacher": "{small}", "evaluation.opponent": "network:{small}:3"}
    settings = of_phases(
        tmp_path,
        ("small", until),
        ("small-again", once),
        ("big", once | {"network.num_channels": 4} | taught),
        ("big-alone", once | {"network.num_channels": 4}),
    )
    scores += [5, 6, 0, 1, 2]
    train_phases(settings)
    names = ["1-small", "2-small-again", "3-big", "4-big-alone"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    ends = [metrics.read(tmp_path / name, "end") for name in names]
    assert [(end["iteration"], end["reason"]) for (end,) in ends] == [
        (4, "score 0.600 against random"),
        *3 * [(1, "1 iteration is done")],
    ]
    shown = capsys.readouterr().out
    assert "phase 1 of 4: small" in shown
    assert "phase small has ended: score 0.600 against random" in shown

    # Where nothing is learned a phase ends with the network that it began with.
    small, again, big, alone = (network_in(tmp_path / name) for name in names)
    tiny_run.assert_same_bits(again, small)
    tiny_run.assert_same_bits(alone, big)
    learned = metrics.read(tmp_path / names[0], "iteration")[-1]
    assert learned["learner/policy_loss"] is not None  # there is something to hand on
    # The big one began with a fresh network, and was taught by the small one.
    key = jax.random.split(jax.random.key(0), 3)[0]
    fresh = initial_variables.init(tiny_run.game(), config.of_phase(settings, 2).network, key)
    kernel, expected = (x["params"]["policy_logits"]["kernel"] for x in (big, fresh))
    np.testing.assert_allclose(kernel, expected, atol=1e-6)
    state = trainer.train(config.of_phase(settings, 2), make_matches=run_matches.RunMatches)
    tiny_run.assert_same_bits(jax.device_get(state.actor_params), small)


@pytest.mark.slow
def test_a_finished_phase_is_skipped_and_an_interrupted_one_goes_on(
    tmp_path, scores, capsys, at_iteration
):
    settings = of_phases(tmp_path, ("one", {"run.num_iterations": 1}), ("two", {}))
    scores += [5, 5]
    at_iteration(2, lambda: signal.raise_signal(signal.SIGTERM))
    train_phases(settings)
    shown = capsys.readouterr().out
    assert "stopped and saved after iteration 2" in shown
    assert not metrics.read(tmp_path / "2-two", "end")
    before = (tmp_path / "1-one" / metrics.FILE).read_bytes()
    train_phases(settings)
    shown = capsys.readouterr().out
    assert "phase 1 of 2" not in shown
    assert "resuming after iteration 2" in shown
    assert (tmp_path / "1-one" / metrics.FILE).read_bytes() == before
    iterations = [e["iteration"] for e in metrics.read(tmp_path / "2-two", "iteration")]
    assert iterations == [1, 2, 3]
    train_phases(settings)  # all are done: nothing is left to do, and no match to play
    assert "phase two has ended: its 3 iterations are done" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.skipif(jax.device_count() < 2, reason="needs two devices")
def test_a_run_on_two_devices_starts_from_the_network_of_another(tmp_path):
    first, then = tmp_path / "first", tmp_path / "then"
    trainer.train(tiny_run.settings(run={"folder": str(first), "num_iterations": 3}))
    run = {"folder": str(then), "num_iterations": 1, "num_devices": 2}
    run |= {"start_from": str(first), "seed": 9}
    state = trainer.train(tiny_run.settings(run=run, replay={"min_positions": 128}))
    tiny_run.assert_same_bits(jax.device_get(state.variables()), network_in(first))


@pytest.mark.parametrize(("section", "name"), [("run", "start_from"), ("selfplay", "teacher")])
def test_a_network_that_is_not_there_is_named(tmp_path, section, name):
    sections = {"run": {"folder": str(tmp_path / "run"), "num_devices": 1}}
    sections[section] = sections.get(section, {}) | {name: f"{tmp_path}/absent"}
    with pytest.raises(ValueError, match=rf"^{section}.{name}: {tmp_path}/absent: no such folder"):
        trainer.train(tiny_run.settings(**sections))
