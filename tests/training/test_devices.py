"""Devices of this process: as many as `conftest` requests."""

import os
import subprocess
import sys

import jax
import pytest
from support.builders import tiny_run
from support.drivers import refusals

from azo.games import plurals
from azo.process import machine
from azo.training import devices


def test_a_run_takes_as_many_devices_as_it_asks_for_or_all():
    there = jax.local_device_count()
    for number, expected in ((1, 1), (None, there)):
        assert devices.prepare(tiny_run.settings(run={"num_devices": number})) == expected


def test_more_devices_than_there_are_are_refused():
    there, kind = jax.local_device_count(), jax.devices()[0].platform
    count = there * 2
    run, replay = {"num_devices": count}, {"capacity": count * 16}
    more = tiny_run.settings(run=run, selfplay={"num_games": count}, replay=replay)
    are = "is" if there == 1 else "are"
    assert refusals.message_of(devices.prepare, more) == (
        f"run.num_devices is {count}, but there {are} {plurals.counted(there, f'{kind} device')}:"
        f" give --run.num-devices {there} or fewer"
    )


def test_without_cpu_affinity_all_cores_are_counted(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert machine.num_cores() == 3


@pytest.mark.parametrize("chosen", [None, "mine"])
def test_programs_are_kept_in_the_users_cache_unless_a_folder_is_set(tmp_path, chosen):
    environment = {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(tmp_path)}
    environment |= {"JAX_COMPILATION_CACHE_DIR": chosen} if chosen else {}
    code = """
import jax
from azo.process import program_cache
program_cache.enable()
print(jax.config.jax_compilation_cache_dir)
"""
    shown = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)
    assert shown.strip() == (chosen or f"{tmp_path}/azo/jax")
