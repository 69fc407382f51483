"""The program beside the first process of a distributed run: it joins the processes and watches.

    python coordinator.py HOST:PORT NUM_PROCESSES SECONDS

Each process of the run has one connection to it, over which both send lines of JSON, see
`Coordinator`. A connection that closes without a farewell tells that its process has died, and the
coordinator tells all others at once. It is a program of its own since JAX's coordination service,
which it starts too, aborts all processes with a stack trace when it ends: in the first process it
would end with that. It ignores signals, and ends with its last connection.

Imports nothing of azo, so that it starts by its path, without an installation.
"""

import asyncio
import contextlib
import errno
import json
import signal
import socket
import sys
from typing import Any

MAX_BYTES = 1 << 24  # of a line
KEEP_ALIVE = (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 4))  # seconds, and tries
"""Options of all connections: a host that is gone is noticed after half a minute."""
_LOOPBACK = ("localhost", "127.0.0.1")
_SECONDS_TO_END = 60.0  # for processes that have been told that another one has died


class Coordinator:
    """Joins processes, passes on their values, and tells all when one has died.

    A process sends `{"process": 1, "num_processes": 2}` to join, then any of

    * `{"value": VALUE}`: once all have sent one, each gets `{"values": [...]}`, by process;
    * `{"failed": TEXT}`: it ends by an error, and the others get `{"failed": TEXT}`;
    * `{"has_left": true}`: it has ended as planned.

    All get `{"service": "HOST:PORT"}`, of JAX's coordination service, when the last one has joined.
    """

    def __init__(self, host: str, num_processes: int, join_seconds: float):
        """Takes the host of the address by which processes reach this one."""
        self.host, self.num_processes, self.join_seconds = host, num_processes, join_seconds
        self.writers: dict[int, asyncio.StreamWriter] = {}
        self.values: dict[int, Any] = {}
        self.has_joined = False  # every process
        self.failure: str | None = None
        self.num_open = 0
        self.has_ended = asyncio.Event()
        self.service: Any = None

    async def run(self, server: asyncio.Server) -> None:
        """Serves until the last connection has closed."""
        async with server:
            limit = asyncio.create_task(self.limit_joining())
            await self.has_ended.wait()
            limit.cancel()
        if self.service is not None:
            self.service.shutdown()

    async def limit_joining(self) -> None:
        """Tells all when processes have not joined within the limit."""
        await asyncio.sleep(self.join_seconds)
        if not self.has_joined:
            missing = sorted({*range(self.num_processes)} - self.writers.keys())
            names = ", ".join(map(str, missing))
            await self.fail(
                f"process{'es' * (len(missing) > 1)} {names} of {self.num_processes} did not join"
                f" within {self.join_seconds:g} s"
            )

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one process."""
        index, has_left = None, False
        self.num_open += 1
        try:
            hello = await _receive(reader)
            if hello is None or not isinstance(hello.get("process"), int):
                return  # not a process of azo
            if (refusal := self.refusal(hello)) is not None:
                await _send(writer, {"failed": refusal})
                return
            index = hello["process"]
            keep_alive(writer.get_extra_info("socket"))
            self.writers[index] = writer
            if len(self.writers) == self.num_processes:
                await self.begin()
            while (message := await _receive(reader)) is not None:
                if "value" in message:
                    await self.collect(index, message["value"])
                elif "failed" in message:
                    await self.fail(f"process {index} has failed: {message['failed']}")
                has_left |= "has_left" in message
        except (OSError, ValueError, asyncio.LimitOverrunError):
            pass  # as if it had closed
        finally:
            if index is not None:
                del self.writers[index]
                if not has_left:
                    await self.fail(f"process {index} has ended unexpectedly")
            writer.close()
            self.num_open -= 1
            if not self.num_open and (self.has_joined or self.failure):
                self.has_ended.set()

    def refusal(self, hello: dict[str, Any]) -> str | None:
        """Returns why a process cannot join, if it cannot."""
        index, number = hello["process"], hello.get("num_processes")
        if self.failure is not None:
            return self.failure
        if number != self.num_processes:
            return (
                f"process {index} was started for {number} processes, but process 0 for"
                f" {self.num_processes}: start all with one --distributed.num-processes"
            )
        if not 0 <= index < self.num_processes:
            return f"process {index} is not one of 0 to {self.num_processes - 1}"
        if index in self.writers or self.has_joined:
            return f"process {index} has joined already: give each its own --distributed.process-id"
        return None

    async def begin(self) -> None:
        """Starts JAX's coordination service, and tells all where."""
        from jax._src.lib import _jax  # it takes a second, in which processes can join

        with socket.create_server((listening_place(self.host) or "", 0)) as probe:
            port = probe.getsockname()[1]
        bind = f"{listening_place(self.host) or '[::]'}:{port}"
        # With recoverable tasks it leaves to `fail` what follows from a death.
        self.service = _jax.get_distributed_runtime_service(
            bind, self.num_processes, recoverable=True
        )
        self.has_joined = True
        await self.send_all({"service": f"{self.host}:{port}"})

    async def collect(self, index: int, value: Any) -> None:
        """Takes the value of a process, and sends all values once they are complete."""
        self.values[index] = value
        if len(self.values) == self.num_processes:
            values = [self.values[one] for one in range(self.num_processes)]
            self.values.clear()
            await self.send_all({"values": values})

    async def fail(self, text: str) -> None:
        """Tells all that the run has failed, once."""
        if self.failure is None:
            self.failure = text
            await self.send_all({"failed": text})
            if not self.num_open:  # nobody has joined
                self.has_ended.set()
            asyncio.get_running_loop().call_later(_SECONDS_TO_END, self.has_ended.set)

    async def send_all(self, message: dict[str, Any]) -> None:
        """Sends a message to all processes."""
        for writer in list(self.writers.values()):
            with contextlib.suppress(OSError):
                await _send(writer, message)


async def _receive(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    line = await reader.readline()
    message = json.loads(line) if line else None
    return message if isinstance(message, dict) else None


async def _send(writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
    writer.write(json.dumps(message).encode() + b"\n")
    await writer.drain()


def keep_alive(connection: Any) -> None:
    """Lets the system notice that the other host is gone."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for name, number in KEEP_ALIVE:
        if hasattr(socket, name):  # of Linux
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), number)


def listening_place(host: str) -> str | None:
    """Returns where to listen for processes that reach this one as `host`, None for everywhere.

    The name of a host may lead to its loopback interface on the host itself.
    """
    return host if host in _LOOPBACK else None


async def _main(address: str, num_processes: int, join_seconds: float) -> None:
    host, _, port = address.rpartition(":")
    coordinator = Coordinator(host, num_processes, join_seconds)
    try:
        server = await asyncio.start_server(
            coordinator.serve, listening_place(host), int(port), limit=MAX_BYTES
        )
    except OSError as error:
        reason = errno.errorcode.get(error.errno or 0, "") == "EADDRINUSE"
        text = "another program listens there" if reason else error.strerror or str(error)
        print(f"{address}: cannot listen ({text})", flush=True)
        return
    print("ready", flush=True)
    await coordinator.run(server)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    asyncio.run(_main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
