"""Several processes that train one run together, and what they agree on.

Without `joined` there is one process, which is the first one and agrees with itself: all functions
then return at once. Values go as JSON through the program of `coordinator`, so no process waits
inside of a library, where Python could not answer signals.

`exchange`, `from_first`, `any_process` and `wait_for_all` wait for the other processes: all have to
call them in the same order. If a process ends by an error, or dies, each other one prints a line
and ends with exit code 2, wherever it is.
"""

import contextlib
import json
import os
import pathlib
import queue
import re
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, NamedTuple, TypeVar

import jax
import numpy as np
import pydantic
from jax._src import clusters
from jax._src.lib import _jax

from azo.process import coordinator, interruption
from azo.storage import descriptors, files, streams

Value = TypeVar("Value")
_FAILED = 2  # exit code
_SECONDS_TO_CONNECT = 5.0  # one try; also to see a shared folder
_SECONDS_BETWEEN_TRIES = 0.5
_SECONDS_TO_HEAR = 10.0  # that another process has died, after an error that may follow from it
# Of programs that start the processes of a job: the number of processes.
_NUMBERS_OF_PROCESSES = ("SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
# XLA would end a process whose others are 30 s late, as on a slower host.
_XLA_FLAG = "--xla_cpu_collective_timeout_seconds"
_COLLECTIVE_SECONDS = 24 * 60 * 60


class ClusterConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """The processes of a run, and the number of this one; by default JAX finds both."""

    coordinator: str | None = None
    """HOST:PORT of process 0, by which the others reach it."""
    num_processes: Annotated[int, pydantic.Field(gt=0, le=4096)] | None = None
    """Number of processes."""
    process_id: Annotated[int, pydantic.Field(ge=0, lt=4096)] | None = None
    """Number of this process, from 0."""
    join_seconds: Annotated[float, pydantic.Field(gt=0, le=86400)] = 300.0
    """Seconds that processes wait for one another at the start."""

    @pydantic.model_validator(mode="after")
    def _check(self) -> "ClusterConfig":
        if self.coordinator is not None and not re.fullmatch(r"\S+:[0-9]{1,5}", self.coordinator):
            raise ValueError(
                f"{_flag('coordinator')} is {self.coordinator}, but should be HOST:PORT, such as"
                " 10.0.0.1:1234"
            )
        three = ("coordinator", "num_processes", "process_id")
        missing = [_flag(name) for name in three if getattr(self, name) is None]
        if 0 < len(missing) < len(three):
            given = [_flag(name) for name in three if getattr(self, name) is not None]
            raise ValueError(f"{' and '.join(given)} without {' and '.join(missing)}: give all")
        if self.process_id is not None and self.process_id >= (self.num_processes or 0):
            raise ValueError(
                f"{_flag('process_id')} is {self.process_id}, but processes are numbered from 0 to"
                f" {(self.num_processes or 0) - 1}"
            )
        return self


class _Place(NamedTuple):
    """Where a process is among the others."""

    coordinator: str  # HOST:PORT
    num_processes: int
    process_id: int
    local_device_ids: Any  # as of `jax.distributed.initialize`


class _Connection:
    """The connection of this process to the coordinator."""

    def __init__(self, place: _Place, join_seconds: float):
        """Joins the other processes; ValueError, one line, if that fails."""
        self.place = place
        self._socket = _connect(place.coordinator, join_seconds)
        self._lines = self._socket.makefile("rb")
        self._inbox: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._ends = False  # by what this process does itself
        self._send({"process": place.process_id, "num_processes": place.num_processes})
        threading.Thread(target=self._listen, daemon=True).start()
        message = self._inbox.get()
        if "failed" in message:
            self.leave()
            raise ValueError(f"--distributed: {message['failed']}")
        self.service = message["service"]

    def exchange(self, value: Any) -> list[Any]:
        self._send({"value": value})
        return self._inbox.get()["values"]

    def leave(self) -> None:
        """Ends the connection as planned."""
        with self._lock:
            self._ends = True
        self._send({"has_left": True})
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # ends the thread too
        self._socket.close()

    def fail(self, text: str) -> None:
        """Tells the others that this process ends by an error."""
        with self._lock:
            self._ends = True
        self._send({"failed": text})

    def _send(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):  # then it is heard that the connection is lost
            self._socket.sendall(json.dumps(message, default=_plain).encode() + b"\n")

    def _listen(self) -> None:
        """Passes messages on, and ends the process at a failure after the first one."""
        failed, has_begun = "the connection to process 0 is lost", False
        try:
            for line in self._lines:
                message = json.loads(line)
                if "failed" in message:
                    failed = message["failed"]
                    break
                self._inbox.put(message)
                has_begun = True
        except (OSError, ValueError):
            pass
        if has_begun:
            self._end(failed)
        self._inbox.put({"failed": failed})

    def _end(self, text: str) -> None:
        """Ends the process with a line, unless it is ending itself."""
        with self._lock:
            if self._ends:
                return
            line = f"{text}; the same command resumes the run from its last checkpoint"
            print(files.one_line(line), file=sys.stderr, flush=True)
            interruption.exit_at_once(_FAILED)


_connection: _Connection | None = None
# They stay open until the process ends: JAX would abort it if its service ended before.
_failed: list[_Connection] = []


def num_processes() -> int:
    """Returns the number of processes of the run."""
    return 1 if _connection is None else _connection.place.num_processes


def is_first() -> bool:
    """Returns whether this is the process that prints, writes files and plays matches."""
    return _connection is None or _connection.place.process_id == 0


def exchange(value: Value) -> list[Value]:
    """Returns the values of all processes, by their numbers; each is a value of JSON."""
    return [value] if _connection is None else _connection.exchange(value)


def from_first(action: Callable[[], Value]) -> Value:
    """Calls an action only in the first process, and returns its result in all processes."""
    if _connection is None:
        return action()
    return exchange(action() if is_first() else None)[0]  # type: ignore[return-value]


def any_process(condition: bool) -> bool:
    """Returns in every process whether a condition holds in at least one."""
    return any(exchange(bool(condition)))


def wait_for_all() -> None:
    """Returns once all processes have called it."""
    exchange(None)


def check_equal(what: str, values: Mapping[str, Any]) -> None:
    """Raises ValueError, one line, unless all processes have equal values, by their names."""
    first, *others = exchange(dict(values))
    for index, other in enumerate(others, start=1):
        for name in first | other:
            if first.get(name) != other.get(name):
                raise ValueError(
                    f"--distributed: {name} is {other.get(name)} in process {index}, but"
                    f" {first.get(name)} in process 0: start all with the same {what}"
                )


def check_shared(folder: pathlib.Path) -> None:
    """Raises ValueError, one line, unless all processes see a folder of the first one."""
    name = from_first(lambda: descriptors.temporary_name("shared"))
    if is_first():
        files.write(folder / name, b"", inside=folder)
    wait_for_all()
    deadline = time.monotonic() + _SECONDS_TO_CONNECT  # network file systems show it later
    while not (is_seen := (folder / name).is_file()) and time.monotonic() < deadline:
        time.sleep(_SECONDS_BETWEEN_TRIES / 10)
    blind = [index for index, sees in enumerate(exchange(is_seen)) if not sees]
    if is_first():
        with contextlib.suppress(OSError):
            (folder / name).unlink()
    if blind:
        raise ValueError(
            f"{folder}: process {blind[0]} does not see this folder of process 0: --run.folder"
            " must be on storage that all processes share"
        )


def first_rows(array: jax.Array, number: int) -> np.ndarray:
    """Returns the first rows, as many as `number`, on the host; call it in the first process.

    Of an array that is split over processes by its first axis, those of the first process.
    """
    if array.is_fully_addressable:
        return np.asarray(array[:number])
    shards = {shard.index[0].start or 0: shard.data for shard in array.addressable_shards}
    return np.concatenate([np.asarray(shards[start]) for start in sorted(shards)])[:number]


def refuse_others() -> None:
    """Raises ValueError, one line, if this is one of several processes that are not `joined`."""
    if _connection is not None:
        return
    found = {name: os.environ.get(name, "") for name in _NUMBERS_OF_PROCESSES}
    several = [f"{name} is {x}" for name, x in found.items() if x.isdigit() and int(x) > 1]
    if jax.distributed.is_initialized() and jax.process_count() > 1:
        several = [f"JAX has {jax.process_count()} processes"]
    if several:
        raise ValueError(
            f"{several[0]}: several processes would write one run. Give --distributed to train"
            " together, or start one process, such as by srun --ntasks=1"
        )


@contextlib.contextmanager
def joined(cluster: ClusterConfig) -> Iterator[None]:
    """Within the block, this process trains with the others; enter it before JAX is used.

    If the block raises an error, all processes end. ValueError, one line, if they cannot be joined.
    """
    global _connection
    place = _place(cluster)
    program = _start_coordinator(place, cluster.join_seconds) if place.process_id == 0 else None
    try:
        _connection = _Connection(place, cluster.join_seconds)
    except ValueError:
        if program is not None:
            program.wait()
        raise
    try:
        _initialize_jax(_connection)
        yield
        wait_for_all()
        jax.distributed.shutdown()
        _connection.leave()
        if program is not None:
            program.wait()  # for the others to leave
    except BaseException as error:
        _report(_connection, error)
        _failed.append(_connection)
        raise
    finally:
        _connection = None


def _report(connection: _Connection, error: BaseException) -> None:
    """Tells the others why this process ends, unless it ends because of another one."""
    if isinstance(error, KeyboardInterrupt):
        connection.fail("interrupted")
        return
    # An error of JAX or Orbax may follow from a death, which the coordinator tells too.
    own = isinstance(error, ValueError) and not isinstance(error, jax.errors.JaxRuntimeError)
    time.sleep(_SECONDS_BETWEEN_TRIES if own else _SECONDS_TO_HEAR)
    connection.fail(files.one_line(str(error) if own else f"{type(error).__name__}: {error}", 400))


def _place(cluster: ClusterConfig) -> _Place:
    """Returns the place of this process, as given, with all its devices, or as JAX finds it."""
    address, number, index = cluster.coordinator, cluster.num_processes, cluster.process_id
    if address is not None and number is not None and index is not None:
        return _Place(address, number, index, None)
    detect = clusters.ClusterEnv.auto_detect_unset_distributed_params
    try:
        with warnings.catch_warnings(action="ignore"):  # of packages that are missing
            found = detect(None, None, None, None, None, int(cluster.join_seconds))
    except Exception as error:  # each environment has its own
        raise ValueError(f"--distributed: {files.one_line(error)}") from None
    address, number, index, devices = found
    if address is None or number is None or index is None:
        flags = ", ".join(map(_flag, ("coordinator", "num_processes", "process_id")))
        raise ValueError(
            "--distributed: JAX finds no cluster. Start with srun, mpirun, in an indexed Kubernetes"
            f" job or on a TPU pod, or give {flags}"
        )
    return _Place(address, number, index, devices)


def _flag(name: str) -> str:
    return f"--distributed.{name.replace('_', '-')}"


def _start_coordinator(place: _Place, join_seconds: float) -> subprocess.Popen[str]:
    """Starts the program of `coordinator`, which ends after its last connection.

    ValueError, one line, if it cannot listen.
    """
    words = ["-P", coordinator.__file__, place.coordinator, str(place.num_processes)]
    program = subprocess.Popen(
        [sys.executable, *words, str(join_seconds)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert program.stdout is not None
    with program.stdout as output:
        line = output.readline().strip()
    if line != "ready":
        program.wait()
        raise ValueError(f"--distributed: {line or 'the coordinator could not start'}")
    return program


def _connect(address: str, join_seconds: float) -> socket.socket:
    """Connects to the coordinator, which may start later; ValueError, one line, if that fails."""
    host, _, port = address.rpartition(":")
    deadline = time.monotonic() + join_seconds
    while True:
        try:
            connection = socket.create_connection(
                (host.strip("[]"), int(port)), _SECONDS_TO_CONNECT
            )
            connection.settimeout(None)
            coordinator.keep_alive(connection)
            return connection
        except (OSError, OverflowError) as error:
            if time.monotonic() > deadline or isinstance(error, OverflowError):
                reason = files.one_line(getattr(error, "strerror", None) or error)
                raise ValueError(
                    f"--distributed: no answer from process 0 at {address} within"
                    f" {join_seconds:g} s ({reason}): start it there, or correct"
                    f" {_flag('coordinator')}"
                ) from None
        time.sleep(_SECONDS_BETWEEN_TRIES)


def _initialize_jax(connection: _Connection) -> None:
    """Initialises `jax.distributed`, with the coordination service of the coordinator."""
    place = connection.place
    streams.discard_output_of_libraries()  # gloo logs each connection
    flags = os.environ.get("XLA_FLAGS", "")
    if _XLA_FLAG not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {_XLA_FLAG}={_COLLECTIVE_SECONDS}".strip()
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    # It would intercept SIGTERM, at which a run saves and stops.
    jax.config.update("jax_enable_preemption_service", False)
    start_service = _jax.get_distributed_runtime_service
    # Else the first process would start a service itself.
    _jax.get_distributed_runtime_service = lambda *_, **__: None
    try:
        jax.distributed.initialize(
            connection.service,
            place.num_processes,
            place.process_id,
            local_device_ids=place.local_device_ids,
            cluster_detection_method="deactivate",
        )
    finally:
        _jax.get_distributed_runtime_service = start_service


def _plain(value: Any) -> Any:
    """Returns a number of numpy or JAX as JSON has it, and a path as text."""
    return value.item() if hasattr(value, "item") else str(value)
