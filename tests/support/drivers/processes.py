"""Several processes that train one run, joined over the loopback interface."""

import os
import pathlib
import socket
import subprocess

import jax

from azo.process import interruption
from support.drivers import commands

TESTS = pathlib.Path(__file__).parents[2]
LIMIT_SECONDS = 900  # only against processes that hang


def free_port():
    """Returns a port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def start(
    number, *words, flags_of=lambda index: (), environment_of=lambda index: {}, is_joined=True
):
    """Starts a command in several processes with two devices each; returns them.

    `flags_of` and `environment_of` give what one process has besides, by its number. Unless they
    are joined here, they join by that.
    """
    port = free_port()
    common = os.environ | {
        "JAX_COMPILATION_CACHE_DIR": str(jax.config.jax_compilation_cache_dir),
        "PYTHONPATH": f"{TESTS.parent}:{TESTS}",
        "XLA_FLAGS": f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=2",
    }
    running = []
    for index in range(number):
        joining = flags(port, number, index) if is_joined else ()
        running.append(
            subprocess.Popen(
                commands.azo(*words, *joining, *flags_of(index)),
                env=common | environment_of(index),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    return running


def flags(port, number, index):
    """Returns the flags that join a process to the others."""
    return (
        *("--distributed", "--distributed.coordinator", f"127.0.0.1:{port}"),
        *("--distributed.num-processes", number, "--distributed.process-id", index),
    )


def finish(processes):
    """Waits for all; returns exit code, output and errors of each."""
    try:
        shown = [process.communicate(timeout=LIMIT_SECONDS) for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [(process.returncode, *texts) for process, texts in zip(processes, shown, strict=True)]


def finish_well(processes):
    """Waits for all, which have to succeed; returns their output. Only the first one has any."""
    ends = finish(processes)
    assert [end[0] for end in ends] == [0] * len(ends), ends
    assert [end[1] for end in ends[1:]] == [""] * (len(ends) - 1)
    errors = [end[2].replace(f"{interruption._LINE}\n", "") for end in ends]  # of slow machines
    assert errors == [""] * len(ends)
    return ends[0][1]
