"""The program that joins processes, with processes that are sockets; one process agrees alone."""

import contextlib
import json
import socket
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest
from support.drivers import processes, refusals

from azo.process import coordinator, distributed


class FakeProcess:
    """One connection to the coordinator."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), 60)
        self.lines = self.socket.makefile("rb")

    def send(self, **message):
        self.socket.sendall(json.dumps(message).encode() + b"\n")
        return self

    def read(self):
        return json.loads(self.lines.readline() or b"null")

    def close(self):
        self.lines.close()
        self.socket.close()


@pytest.fixture
def join():
    """Starts a coordinator, and returns what joins a process; it has to end with the last one."""
    port = processes.free_port()
    words = ["-P", coordinator.__file__, f"127.0.0.1:{port}", "2", "60"]
    program = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True)
    assert program.stdout.readline() == "ready\n"
    with contextlib.ExitStack() as stack:

        def join_process(index, number=2):
            process = stack.enter_context(contextlib.closing(FakeProcess(port)))
            return process.send(process=index, num_processes=number)

        yield join_process
    assert program.wait(60) == 0
    program.stdout.close()


def test_values_of_all_processes_come_back_in_their_order(join):
    one, zero = join(1), join(0)
    services = {process.read()["service"] for process in (zero, one)}
    assert len(services) == 1
    for number in range(3):
        one.send(value=[number])
        zero.send(value={"x": number + 0.1})
        assert zero.read() == one.read() == {"values": [{"x": number + 0.1}, [number]]}


def test_a_process_that_dies_is_named_to_the_others_but_not_one_that_leaves(join):
    zero, one = join(0), join(1)
    assert {*zero.read(), *one.read()} == {"service"}
    zero.send(has_left=True).close()
    one.send(value=1)
    one.socket.settimeout(0.3)
    with pytest.raises(TimeoutError):
        one.read()


def test_the_death_of_a_process_is_told_at_once(join):
    zero, one = join(0), join(1)
    assert {*zero.read(), *one.read()} == {"service"}
    one.close()
    assert zero.read() == {"failed": "process 1 has ended unexpectedly"}


def test_an_error_of_a_process_is_told_with_its_reason(join):
    zero, one = join(0), join(1)
    assert {*zero.read(), *one.read()} == {"service"}
    one.send(failed="the disk is full")
    assert zero.read() == {"failed": "process 1 has failed: the disk is full"}


def test_a_process_with_the_number_of_another_one_or_of_another_run_is_refused(join):
    first = join(0)
    assert join(0).read() == {
        "failed": "process 0 has joined already: give each its own --distributed.process-id"
    }
    assert join(1, number=3).read() == {
        "failed": "process 1 was started for 3 processes, but process 0 for 2: start all with one"
        " --distributed.num-processes"
    }
    stranger = join("GET / HTTP/1.1")
    assert stranger.read() is None
    one = join(1)
    assert {*first.read(), *one.read()} == {"service"}


def test_a_port_that_is_taken_is_named():
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        place = distributed.ClusterConfig(coordinator=address, num_processes=2, process_id=0)

        def join():
            with distributed.joined(place):
                pass

        assert refusals.message_of(join) == (
            f"--distributed: {address}: cannot listen (another program listens there)"
        )


def test_one_process_is_the_first_and_agrees_with_itself():
    assert distributed.is_first()
    assert distributed.num_processes() == 1
    assert distributed.from_first(lambda: 3) == 3
    assert distributed.any_process(True)
    assert not distributed.any_process(False)
    distributed.check_equal("settings", {"x": 1})
    distributed.refuse_others()
    assert distributed.first_rows(jnp.arange(5), 2).tolist() == [0, 1]


def test_processes_that_a_program_has_joined_by_itself_are_refused(monkeypatch):
    monkeypatch.setattr(jax.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(jax, "process_count", lambda: 3)
    assert refusals.message_of(distributed.refuse_others).startswith(
        "JAX has 3 processes: several processes would write one run. Give --distributed"
    )
