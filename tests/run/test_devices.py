"""Devices of this process: as many as `conftest` requests."""

import os

import jax
import pytest
from support import tiny_run

from azo.run import devices


def test_a_run_takes_as_many_devices_as_it_asks_for():
    assert devices.prepare(tiny_run.settings(run={"num_devices": 1})) == 1


def test_a_run_that_asks_for_no_number_takes_all_devices():
    settings = tiny_run.settings(run={"num_devices": None})
    assert devices.prepare(settings) == jax.local_device_count()


def test_more_devices_than_there_are_is_answered_with_how_many_there_are():
    there = jax.local_device_count()
    count = there * 2
    sections = {
        "run": {"num_devices": count},
        "selfplay": {"num_games": count},
        "replay": {"capacity": count * 16},
    }
    with pytest.raises(ValueError) as caught:
        devices.prepare(tiny_run.settings(**sections))
    kind = jax.devices()[0].platform
    assert str(caught.value) == (
        f"run.num_devices is {count}, but there are {there} {kind} devices:"
        f" give --run.num-devices {there} or fewer"
    )


def test_batches_that_do_not_split_over_all_devices_are_refused():
    there = jax.local_device_count()
    if there == 1:
        pytest.skip("needs more than one device")
    odd = tiny_run.settings(run={"num_devices": None}, learner={"batch_size": there + 1})
    with pytest.raises(ValueError) as caught:
        devices.prepare(odd)
    assert str(caught.value) == (
        f"learner.batch_size is {there + 1}, but should be a multiple of {there}, the number of"
        f" devices: choose {2 * there}, or fewer devices by --run.num-devices"
    )


def test_without_cpu_affinity_all_cores_are_counted(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert devices.num_cores() == 3
