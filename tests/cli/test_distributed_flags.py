"""The flags of a run of several processes: each mistake is one line, before anything is written."""

import pytest
from support.builders import tiny_run
from support.drivers import commands, processes

COORDINATOR = ("--distributed.coordinator", "127.0.0.1:4000")
NUMBER = ("--distributed.num-processes", 2)
INDEX = ("--distributed.process-id", 1)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ("--distributed",),
            "--distributed: JAX finds no cluster. Start with srun, mpirun, in an indexed Kubernetes"
            " job or on a TPU pod, or give --distributed.coordinator, --distributed.num-processes,"
            " --distributed.process-id",
        ),
        (
            COORDINATOR,
            "--distributed.coordinator without --distributed.num-processes and"
            " --distributed.process-id: give all",
        ),
        (
            (*NUMBER, *INDEX),
            "--distributed.num-processes and --distributed.process-id without"
            " --distributed.coordinator: give all",
        ),
        (
            (*COORDINATOR, *NUMBER, "--distributed.process-id=2"),
            "--distributed.process-id is 2, but processes are numbered from 0 to 1",
        ),
        (
            ("--distributed.coordinator", "host", *NUMBER, *INDEX),
            "--distributed.coordinator is host, but should be HOST:PORT, such as 10.0.0.1:1234",
        ),
        (("--distributed.coordinator",), "--distributed.coordinator needs a value"),
        (
            ("--distributed.rank", 1),
            "unknown flag '--distributed.rank'. There are: --distributed.coordinator,"
            " --distributed.num-processes, --distributed.process-id, --distributed.join-seconds",
        ),
    ],
)
def test_a_wrong_flag_is_named_with_what_would_work(tmp_path, capsys, flags, message):
    assert commands.refused(capsys, *tiny_run.train(tmp_path, *flags)) == message
    assert not (tmp_path / "run").exists()


def test_a_process_that_finds_nobody_at_the_address_says_so(tmp_path, capsys):
    address = f"127.0.0.1:{processes.free_port()}"
    flags = ("--distributed.coordinator", address, *NUMBER, *INDEX)
    wait = ("--distributed.join-seconds", 0.1)
    assert commands.refused(capsys, *tiny_run.train(tmp_path, *flags, *wait)) == (
        f"--distributed: no answer from process 0 at {address} within 0.1 s (Connection refused):"
        " start it there, or correct --distributed.coordinator"
    )


def test_a_first_process_that_waits_in_vain_names_the_missing_ones(tmp_path, capsys):
    flags = processes.flags(processes.free_port(), 3, 0)
    wait = ("--distributed.join-seconds", 0.5)
    assert commands.refused(capsys, *tiny_run.train(tmp_path, *flags, *wait)) == (
        "--distributed: processes 1, 2 of 3 did not join within 0.5 s"
    )


@pytest.mark.parametrize("name", ["SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"])
def test_several_processes_without_the_flag_are_refused(tmp_path, capsys, monkeypatch, name):
    monkeypatch.setenv(name, "2")
    assert commands.refused(capsys, *tiny_run.train(tmp_path)) == (
        f"{name} is 2: several processes would write one run. Give --distributed to train together,"
        " or start one process, such as by srun --ntasks=1"
    )
    assert not (tmp_path / "run").exists()
