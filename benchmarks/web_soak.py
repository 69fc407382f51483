"""Does the web server answer polite clients soon, beside slow and hostile ones, in constant memory?

    python -m benchmarks.web_soak --minutes 120

The script starts `azo web` on a free port of this machine. 30 polite clients send a request about
once a second: settings, games, static files, pasted text and searches of 16 simulations. A refusal
with 503 is retried after a second, as the page does, and the retries count as part of the time.
10 slow clients send headers and bodies byte by byte, or do not read. 10 hostile ones send garbage,
foreign origins, damaged and large bodies, paths outside the folder and bursts of half-sent headers,
leave searches, and start the longest ones. Each client has an address of its own in 127.0.0.0/8,
except that the hostile ones share one. A line a minute shows what was counted since the start, and
the server's memory. Linux only.
"""

import asyncio
import collections
import contextlib
import json
import pathlib
import random
import re
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence

import pydantic

from azo.cli import command_line

NUM_POLITE, NUM_SLOW, NUM_HOSTILE = 30, 10, 10
NUM_RETRIES = 5
HOSTILE_ADDRESS = "127.0.0.200"

Client = Callable[["Soak", str, random.Random], Awaitable[None]]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class SoakConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """How long 50 clients use the server."""

    minutes: pydantic.PositiveFloat = 120.0
    """Minutes, after the server has started."""
    limit_seconds: pydantic.PositiveFloat = 5.0
    """Longest time of an answer to a polite client."""
    max_growth: pydantic.PositiveFloat = 0.02
    """Largest growth of the server's memory after the first sixth of the time."""
    report_seconds: pydantic.PositiveFloat = 60.0
    """Seconds between two lines."""
    seed: pydantic.NonNegativeInt = 0
    """Seed of all clients."""


class Soak:
    """A running server, and what its clients have counted."""

    def __init__(self, port: int):
        """Starts without requests."""
        self.port = port
        self.counts: collections.Counter[str] = collections.Counter()
        self.seconds: list[float] = []  # of answers to polite clients
        self.failures: list[str] = []

    async def connect(self, address: str) -> Streams:
        """Opens a connection from an address of this machine."""
        return await asyncio.open_connection("127.0.0.1", self.port, local_addr=(address, 0))

    async def ask(self, address: str, request: bytes) -> tuple[int, bytes]:
        """Sends a request on a new connection; returns the status and the rest of the answer."""
        reader, writer = await self.connect(address)
        try:
            writer.write(request)
            answer = await reader.read(-1)
        finally:
            writer.transport.abort()
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head.split(b" ", 2)[1]), body


def http(path: str, body: object = None, **headers: str) -> bytes:
    """Returns a request that closes its connection; `body` is sent as JSON."""
    sent = b"" if body is None else json.dumps(body).encode()
    fields = {"host": "localhost", "connection": "close"}
    if body is not None:
        fields |= {"content-type": "application/json", "content-length": str(len(sent))}
    lines = [f"{name}: {value}\r\n" for name, value in (fields | headers).items()]
    method = "GET" if body is None else "POST"
    return f"{method} {path} HTTP/1.1\r\n{''.join(lines)}\r\n".encode() + sent


def question(session: str, **how: object) -> dict[str, object]:
    """Returns a request for a search."""
    return {"game": "othello8", "moves": "f5d6", "session": session, "role": "advise", **how}


async def polite(soak: Soak, address: str, rng: random.Random) -> None:
    """A page: about one request a second, each of which must be answered."""
    session = f"{rng.getrandbits(64):016x}"
    while True:
        await asyncio.sleep(rng.uniform(0.5, 1.5))
        path, body = rng.choice(
            [
                ("/api/settings", None),
                ("/static/play.js", None),
                ("/", None),
                ("/api/game", {"game": "othello8", "moves": "f5d6c3d3c4"}),
                ("/api/read", {"game": "othello8", "text": "F5 D6 C4"}),
            ]
        )
        if rng.random() < 0.02:
            path, body = "/api/think", question(session, num_simulations=16)
        start, status, answer = time.monotonic(), 0, b""
        for _ in range(NUM_RETRIES + 1):
            status, answer = await soak.ask(address, http(path, body))
            if status != 503:
                break
            soak.counts["polite, refused with 503"] += 1
            await asyncio.sleep(1)
        seconds = time.monotonic() - start
        soak.seconds.append(seconds)
        soak.counts[f"polite {path}"] += 1
        if status != 200 or (path == "/api/think" and b'"is_final":true' not in answer):
            soak.failures.append(f"{path}: {status} {answer[:80]!r}")
        if len(soak.seconds) % 10 == 0:  # now and then a page stays connected
            await keep_alive(soak, address)


async def keep_alive(soak: Soak, address: str) -> None:
    """Two requests on one connection."""
    reader, writer = await soak.connect(address)
    for _ in range(2):
        writer.write(b"GET /api/settings HTTP/1.1\r\nhost: localhost\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(re.findall(rb"content-length: (\d+)", head)[0]))
    writer.transport.abort()


async def drip(soak: Soak, address: str, rng: random.Random) -> None:
    """Headers or a body byte by byte, until the server hangs up."""
    while True:
        request = http("/api/game", {"game": "othello8", "moves": " " * 200})
        cut = rng.choice([20, request.index(b"\r\n\r\n") + 10])
        reader, writer = await soak.connect(address)
        writer.write(request[:cut])
        answer = asyncio.ensure_future(reader.read(-1))
        for byte in request[cut:]:
            await asyncio.sleep(1)
            if answer.done():
                break
            writer.write(bytes([byte]))
        with contextlib.suppress(ConnectionError):
            await answer
        writer.transport.abort()
        soak.counts["slow: byte by byte"] += 1


async def unread(soak: Soak, address: str, rng: random.Random) -> None:
    """Many requests on one connection, whose answers are not read."""
    while True:
        _, writer = await soak.connect(address)
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        with contextlib.suppress(ConnectionError):
            for _ in range(rng.randrange(20, 400)):
                writer.write(b"GET /static/play.js HTTP/1.1\r\nhost: localhost\r\n\r\n")
            await asyncio.sleep(rng.uniform(10, 90))
        writer.transport.abort()
        soak.counts["slow: answers not read"] += 1


async def garbage(soak: Soak, address: str, rng: random.Random) -> None:
    """Wrong requests of many kinds, none of which may be answered with 5xx, except 503."""
    deep = "[" * 5_000
    while True:
        await asyncio.sleep(rng.uniform(0.2, 1))
        request = rng.choice(
            [
                rng.randbytes(200) + b"\r\n\r\n",
                http("/api/game", {"game": "othello8"}, origin="http://[evil"),
                http("/api/game", {"game": "othello8"}, origin="http://evil.example"),
                http("/", None, host="[::1"),
                http("/../../etc/passwd"),
                http("/static/%2e%2e/server.py"),
                http("/static/app.js", None, range="bytes=" + "0-0," * 3_000 + "1-2"),
                http("/api/read", {"game": "othello8", "text": deep}),
                http("/api/read", {"game": "othello8", "text": "(;GM[Othello]PC[" * 900}),
                http("/api/game", {"game": "othello8", "moves": "f5" * 300}),
                http("/api/game", deep),
                http("/api/game", {"game": "othello8", "moves": "x" * 10**6}),
                http("/api/game", None, **{"content-length": str(10**9)}),
                http("/", None, x="y" * 30_000),
            ]
        )
        with contextlib.suppress(ConnectionError, IndexError, ValueError):
            status, _ = await asyncio.wait_for(soak.ask(address, request), 30)
            soak.counts[f"hostile: answered with {status // 100}xx"] += 1
            if status >= 500 and status != 503:
                soak.failures.append(f"{request[:80]!r}: {status}")
        soak.counts["hostile: wrong requests"] += 1


async def flood(soak: Soak, address: str, rng: random.Random) -> None:
    """Bursts of 100 connections with half-sent headers, kept for some seconds."""
    while True:
        await asyncio.sleep(rng.uniform(5, 15))
        writers = []
        with contextlib.suppress(ConnectionError):
            for _ in range(100):
                _, writer = await soak.connect(address)
                writers.append(writer)
                writer.write(b"GET / HTTP/1.1\r\nx-")
        await asyncio.sleep(rng.uniform(1, 10))
        for writer in writers:
            writer.transport.abort()
        soak.counts["hostile: half-sent headers"] += len(writers)


async def greedy(soak: Soak, address: str, rng: random.Random) -> None:
    """The longest searches, half of them left after a second, each in a session of its own."""
    while True:
        await asyncio.sleep(rng.uniform(20, 60))
        body = question(f"{rng.getrandbits(64):016x}", num_simulations=20_000, seconds=30)
        with contextlib.suppress(ConnectionError, TimeoutError, IndexError):
            seconds = rng.choice([1, 8])
            await asyncio.wait_for(soak.ask(address, http("/api/think", body)), seconds)
        soak.counts["hostile: long searches"] += 1


def clients(soak: Soak, seed: int) -> list[Awaitable[None]]:
    """Returns the 50 clients."""
    kinds: list[tuple[Client, str]] = [
        *((polite, f"127.0.1.{number + 1}") for number in range(NUM_POLITE)),
        *(((drip, unread)[number % 2], f"127.0.2.{number + 1}") for number in range(NUM_SLOW)),
        *((garbage, HOSTILE_ADDRESS) for _ in range(NUM_HOSTILE - 4)),
        *((kind, HOSTILE_ADDRESS) for kind in (flood, flood, greedy, greedy)),
    ]
    return [
        client(soak, address, random.Random(1000 * seed + number))
        for number, (client, address) in enumerate(kinds)
    ]


def memory_kilobytes(process_id: int) -> int:
    """Returns the resident memory of a process."""
    status = pathlib.Path(f"/proc/{process_id}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0])


async def attack(soak: Soak, config: SoakConfig, process_id: int) -> list[int]:
    """Runs all clients; returns the server's memory at every report, in kB."""
    folder = pathlib.Path(f"/proc/{process_id}")
    tasks = [asyncio.ensure_future(client) for client in clients(soak, config.seed)]
    start, memory = time.monotonic(), [memory_kilobytes(process_id)]
    while (elapsed := time.monotonic() - start) < 60 * config.minutes:
        left = 60 * config.minutes - elapsed
        await asyncio.wait(
            tasks, timeout=min(config.report_seconds, left), return_when=asyncio.FIRST_EXCEPTION
        )
        for task in tasks:
            if task.done():
                task.result()  # a client that stops is an error
        memory.append(memory_kilobytes(process_id))
        ordered = sorted(soak.seconds)
        print(
            f"{(time.monotonic() - start) / 60:.1f} min:",
            f"{len(ordered)} polite answers, median {1000 * ordered[len(ordered) // 2]:.0f} ms,",
            f"99.9 % {ordered[int(0.999 * len(ordered))]:.2f} s, longest {ordered[-1]:.2f} s,",
            f"{len(soak.failures)} failures; {memory[-1] / 1024:.1f} MB,",
            f"{len(list((folder / 'fd').iterdir()))} files,",
            f"{len(list((folder / 'task').iterdir()))} threads",
            flush=True,
        )
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return memory


def main(argv: Sequence[str] | None = None) -> int:
    """Serves, attacks, prints what was counted, and returns 1 if a limit was exceeded."""
    argv = sys.argv[1:] if argv is None else argv
    config = command_line.parse(SoakConfig, argv, prog="web_soak", description=__doc__)
    command = [sys.executable, "-m", "azo", "web", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            lines = (re.search(r"http://127.0.0.1:(\d+)", line) for line in server.stdout)
            soak = Soak(next(int(match[1]) for match in lines if match))
            memory = asyncio.run(attack(soak, config, server.pid))
        finally:
            server.terminate()
    for name, number in sorted(soak.counts.items()):
        print(f"{name}: {number}")
    for failure in soak.failures[:20]:
        print(f"failed: {failure}")
    late = sum(seconds > config.limit_seconds for seconds in soak.seconds)
    print(f"{late} of {len(soak.seconds)} polite answers took more than {config.limit_seconds:g} s")
    grew = report_growth(memory, config.max_growth)
    return int(bool(late or soak.failures or grew))


def report_growth(memory: Sequence[int], limit: float) -> int:
    """Prints the growth of a process's memory; returns 1 if it is more than a share `limit`.

    The largest value of the last sixth is compared with the value after the first sixth.
    """
    settled = memory[len(memory) // 6]
    growth = max(memory[-max(1, len(memory) // 6) :]) / settled - 1
    print(f"memory grew by {growth:.1%} after the first sixth of the time")
    return int(growth > limit)


if __name__ == "__main__":
    sys.exit(main())
